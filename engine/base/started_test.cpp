#include "base/started.h"

#include <gtest/gtest.h>

namespace lapidary {
namespace {

// Something one waits for until it is told.
struct Gate {
    std::coroutine_handle<> waiting;
    auto operator co_await() noexcept {
        struct Awaiter {
            Gate& gate;
            bool await_ready() noexcept { return false; }
            void await_suspend(std::coroutine_handle<> awaiter) noexcept { gate.waiting = awaiter; }
            void await_resume() noexcept {}
        };
        return Awaiter{*this};
    }
};

Task<int> behind(Gate& gate, int& begun, int value) {
    ++begun;
    co_await gate;
    co_return value;
}

TEST(Started, BeginsAtOnceAndIsAwaitedLater) {
    Gate first;
    Gate second;
    int begun = 0;
    Started<int> a(behind(first, begun, 1));
    Started<int> b(behind(second, begun, 2));
    EXPECT_EQ(begun, 2);
    int sum = 0;
    start<int>(
        [](Started<int> one, Started<int> two) -> Task<int> {
            co_return co_await std::move(one) * 10 + co_await std::move(two);
        }(std::move(a), std::move(b)),
        [&](int value) { sum = value; });
    second.waiting.resume();
    EXPECT_EQ(sum, 0);
    first.waiting.resume();
    EXPECT_EQ(sum, 12);
}

TEST(Started, MayBeForgotten) {
    Gate gate;
    int begun = 0;
    {
        const Started<int> forgotten(behind(gate, begun, 1));
    }
    gate.waiting.resume();
    EXPECT_EQ(begun, 1);
}

}  // namespace
}  // namespace lapidary
