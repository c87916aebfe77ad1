// Started<T>: a task that is under way already and is awaited later, so that several can wait for the host at the same time.
#pragma once

#include <memory>

#include "base/task.h"

namespace lapidary {

template <class T>
class [[nodiscard]] Started {
  public:
    explicit Started(Task<T> task) : state_(std::make_shared<State>()) {
        start<T>(std::move(task), [state = state_](T value) {
            state->value.emplace(std::move(value));
            // Resuming may destroy this object, so the awaiter is taken out of it first.
            std::exchange(state->awaiter, std::noop_coroutine()).resume();
        });
    }

    // May be awaited once.
    auto operator co_await() && noexcept {
        struct Awaiter {
            std::shared_ptr<State> state;
            bool await_ready() noexcept { return state->value.has_value(); }
            void await_suspend(std::coroutine_handle<> awaiter) noexcept { state->awaiter = awaiter; }
            T await_resume() { return std::move(*state->value); }
        };
        return Awaiter{state_};
    }

  private:
    struct State {
        std::optional<T> value;
        std::coroutine_handle<> awaiter = std::noop_coroutine();
    };
    std::shared_ptr<State> state_;
};

}  // namespace lapidary
