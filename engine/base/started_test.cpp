#include "base/started.h"

#include <gtest/gtest.h>

namespace lapidary {
namespace {

// Something one waits for until it is told.
struct Door {
    std::coroutine_handle<> waiting;
    auto operator co_await() noexcept {
        struct Awaiter {
            Door& door;
            bool await_ready() noexcept { return false; }
            void await_suspend(std::coroutine_handle<> awaiter) noexcept { door.waiting = awaiter; }
            void await_resume() noexcept {}
        };
        return Awaiter{*this};
    }
};

Task<int> behind(Door& door, int& begun, int value) {
    ++begun;
    co_await door;
    co_return value;
}

TEST(Started, BeginsAtOnceAndIsAwaitedLater) {
    Door first;
    Door second;
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
    Door door;
    int begun = 0;
    {
        const Started<int> forgotten(behind(door, begun, 1));
    }
    door.waiting.resume();
    EXPECT_EQ(begun, 1);
}

}  // namespace
}  // namespace lapidary
