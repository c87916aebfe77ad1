// for_all: several tasks of one kind at a time, such as compiling kernels, where the host can work on more than one.
#pragma once

#include <algorithm>
#include <functional>

#include "base/task.h"

namespace lapidary {

namespace detail {
// Waits until as many workers have ended as were started.
struct Workers {
    size_t running = 0;
    std::coroutine_handle<> waiting;

    auto join() {
        struct Awaiter {
            Workers& workers;
            bool await_ready() noexcept { return workers.running == 0; }
            void await_suspend(std::coroutine_handle<> handle) noexcept { workers.waiting = handle; }
            void await_resume() noexcept {}
        };
        return Awaiter{*this};
    }
    void ended() {
        // `this` lives in the frame that is resumed, which may be gone afterwards: resume() has to come last.
        if (--running == 0 && waiting) std::exchange(waiting, nullptr).resume();
    }
};
}  // namespace detail

// Awaits work(0) … work(count - 1), `at_once` of them under way at most, and returns when all have ended. Their results go
// where their captures say, and sharing a Cancel is how to stop them.
inline Task<bool> for_all(size_t count, size_t at_once, std::function<Task<bool>(size_t)> work) {
    size_t next = 0;
    detail::Workers workers{.running = std::min(count, at_once), .waiting = {}};
    const auto worker = [&]() -> Task<bool> {
        while (next < count) co_await work(next++);
        co_return true;
    };
    for (size_t i = std::min(count, at_once); i > 0; --i) start<bool>(worker(), [&](bool) { workers.ended(); });
    co_await workers.join();
    co_return true;
}

}  // namespace lapidary
