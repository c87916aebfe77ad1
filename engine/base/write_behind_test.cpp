#include "base/write_behind.h"

#include <gtest/gtest.h>

namespace lapidary {
namespace {

// Writes when the test says so.
class SlowSink final : public ByteSink {
  public:
    std::vector<uint64_t> begun;
    std::vector<std::coroutine_handle<>> waiting;
    Status answer;

    Task<Status> write(uint64_t offset, Bytes, Cancel) override {
        struct Wait {
            SlowSink& sink;
            bool await_ready() { return false; }
            void await_suspend(std::coroutine_handle<> handle) { sink.waiting.push_back(handle); }
            void await_resume() {}
        };
        begun.push_back(offset);
        co_await Wait{*this};
        co_return answer;
    }
    void complete() {
        const auto next = waiting.front();
        waiting.erase(waiting.begin());
        next.resume();
    }
};

// Three pieces, then the end; counts those that were made.
Task<Status> make_three(WriteBehind& out, int& made) {
    for (; made < 3; ++made) CO_TRY(co_await out.write(uint64_t(made) * 10, Bytes(10)));
    co_return co_await out.finish();
}

TEST(WriteBehind, MakesOnePieceAheadAndNoMore) {
    SlowSink sink;
    WriteBehind out(sink, {});
    int made = 0;
    std::optional<Status> ended;
    start<Status>(make_three(out, made), [&](Status status) { ended = status; });
    EXPECT_EQ(made, 1);  // and the second waits for the first to be written
    EXPECT_EQ(sink.begun, (std::vector<uint64_t>{0}));
    sink.complete();
    EXPECT_EQ(made, 2);
    sink.complete();
    EXPECT_EQ(sink.begun, (std::vector<uint64_t>{0, 10, 20}));
    EXPECT_FALSE(ended) << "the last piece is still under way";
    sink.complete();
    ASSERT_TRUE(ended);
    EXPECT_TRUE(*ended);
}

TEST(WriteBehind, TellsOfAFailureAtTheNextOccasion) {
    SlowSink sink;
    WriteBehind out(sink, {});
    int made = 0;
    std::optional<Status> ended;
    start<Status>(make_three(out, made), [&](Status status) { ended = status; });
    sink.answer = fail(Code::io, "the disk is full");
    sink.complete();
    ASSERT_TRUE(ended);
    EXPECT_EQ(ended->error().message, "the disk is full");
    EXPECT_EQ(sink.begun.size(), 1u);
    EXPECT_TRUE(*out.finish().run_now()) << "told once, and nothing is under way";
}

TEST(WriteBehind, ATaskThatIsGoneIsNotResumed) {
    SlowSink sink;
    WriteBehind out(sink, {});
    int made = 0;
    EXPECT_FALSE(make_three(out, made).run_now());  // it waits, and is destroyed
    sink.complete();
    EXPECT_EQ(made, 1);
}

}  // namespace
}  // namespace lapidary
