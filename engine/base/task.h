// Task<T>: a computation that may have to wait for the host (a file, the GPU), written as straight-line code.
//
//   Task<Result<Header>> read_header(ByteSource& source) {
//       auto bytes = CO_TRY(co_await source.read({0, 4096}, cancel));
//       co_return parse(bytes);
//   }
//
// A task starts when it is awaited (or handed to `start`), runs on the one thread there is, and resumes its
// awaiter directly when it ends. Destroying a task that waits destroys its frame and with it everything
// the task owns; whatever it was waiting for must tolerate that (see PendingOps in api/).
#pragma once

#include <coroutine>
#include <exception>
#include <functional>
#include <optional>
#include <utility>

namespace lapidary {

template <class T>
class [[nodiscard]] Task {
  public:
    struct promise_type {
        std::optional<T> value;
        std::coroutine_handle<> awaiter = std::noop_coroutine();

        Task get_return_object() { return Task(std::coroutine_handle<promise_type>::from_promise(*this)); }
        std::suspend_always initial_suspend() noexcept { return {}; }
        auto final_suspend() noexcept {
            struct ResumeAwaiter {
                bool await_ready() noexcept { return false; }
                std::coroutine_handle<> await_suspend(std::coroutine_handle<promise_type> done) noexcept {
                    return done.promise().awaiter;
                }
                void await_resume() noexcept {}
            };
            return ResumeAwaiter{};
        }
        template <class U>
        void return_value(U&& result) {
            value.emplace(std::forward<U>(result));
        }
        void unhandled_exception() { std::terminate(); }  // the engine is built without exceptions
    };

    Task(Task&& other) noexcept : frame_(std::exchange(other.frame_, nullptr)) {}
    Task& operator=(Task&& other) noexcept {
        if (this != &other) {
            destroy();
            frame_ = std::exchange(other.frame_, nullptr);
        }
        return *this;
    }
    Task(const Task&) = delete;
    Task& operator=(const Task&) = delete;
    ~Task() { destroy(); }

    auto operator co_await() && noexcept {
        struct Awaiter {
            std::coroutine_handle<promise_type> frame;
            bool await_ready() noexcept { return false; }
            std::coroutine_handle<> await_suspend(std::coroutine_handle<> awaiter) noexcept {
                frame.promise().awaiter = awaiter;
                return frame;
            }
            T await_resume() { return std::move(*frame.promise().value); }
        };
        return Awaiter{frame_};
    }

    // Runs a task that never has to wait (tests, memory sources). Empty when it did wait.
    std::optional<T> run_now() && {
        frame_.resume();
        if (!frame_.done()) return std::nullopt;
        return std::move(frame_.promise().value);
    }

  private:
    explicit Task(std::coroutine_handle<promise_type> frame) : frame_(frame) {}
    void destroy() {
        if (frame_) frame_.destroy();
    }
    std::coroutine_handle<promise_type> frame_;
};

namespace detail {
// A coroutine nobody awaits: it owns itself and its frame goes away when it ends.
struct Detached {
    struct promise_type {
        Detached get_return_object() { return {}; }
        std::suspend_never initial_suspend() noexcept { return {}; }
        std::suspend_never final_suspend() noexcept { return {}; }
        void return_void() {}
        void unhandled_exception() { std::terminate(); }
    };
};
}  // namespace detail

// Starts a task; `done` receives its result, now or whenever it has one. The task cannot be destroyed from
// outside any more: stop it through its Cancel.
template <class T>
void start(Task<T> task, std::function<void(T)> done) {
    [](Task<T> owned, std::function<void(T)> callback) -> detail::Detached { callback(co_await std::move(owned)); }(
                                                           std::move(task), std::move(done));
}

}  // namespace lapidary
