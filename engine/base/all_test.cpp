#include "base/all.h"

#include <gtest/gtest.h>

#include <deque>

namespace lapidary {
namespace {

// Something that takes until somebody says so.
struct Later {
    std::deque<std::coroutine_handle<>>& queue;
    bool await_ready() { return false; }
    void await_suspend(std::coroutine_handle<> handle) { queue.push_back(handle); }
    void await_resume() {}
};

TEST(ForAll, HasNoMoreUnderWayThanAllowedAndEndsWithTheLast) {
    std::deque<std::coroutine_handle<>> waiting;
    std::vector<int> done(5);
    bool ended = false;
    start<bool>(for_all(5, 2,
                        [&](size_t i) -> Task<bool> {
                            co_await Later{waiting};
                            ++done[i];
                            co_return true;
                        }),
                [&](bool) { ended = true; });
    for (int i = 0; i < 5; ++i) {
        EXPECT_FALSE(ended);
        EXPECT_EQ(waiting.size(), i < 4 ? 2u : 1u);
        const auto next = waiting.back();  // not in the order they began
        waiting.pop_back();
        next.resume();
    }
    EXPECT_TRUE(ended);
    EXPECT_EQ(done, std::vector<int>(5, 1));
}

TEST(ForAll, NeedNotWaitForWhatIsDoneAtOnce) {
    int done = 0;
    const auto work = [&](size_t) -> Task<bool> {
        ++done;
        co_return true;
    };
    EXPECT_TRUE(for_all(100, 8, work).run_now());
    EXPECT_EQ(done, 100);
    EXPECT_TRUE(for_all(0, 8, work).run_now());
    EXPECT_EQ(done, 100);
}

}  // namespace
}  // namespace lapidary
