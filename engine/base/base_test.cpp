#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/byte_source.h"
#include "base/checked.h"
#include "base/half.h"
#include "base/log.h"
#include "base/sort_few.h"
#include "base/tensor_type.h"

namespace lapidary {
namespace {

TEST(Format, FillsHolesInOrder) {
    EXPECT_EQ(format("{} of {}: '{}'", 3, uint64_t(18446744073709551615u), "x"), "3 of 18446744073709551615: 'x'");
    EXPECT_EQ(format("nothing"), "nothing");
    EXPECT_EQ(format("{}, {}, {}", -1, 0.5, true), "-1, 0.5, true");
}

TEST(SortFew, SortsAndKeepsTheOrderOfEquals) {
    std::vector<int> none;
    sort_few(none);
    EXPECT_TRUE(none.empty());
    std::vector<int> numbers = {3, -1, 2, 2, 0};
    sort_few(numbers);
    EXPECT_EQ(numbers, (std::vector<int>{-1, 0, 2, 2, 3}));
    std::vector<std::pair<int, char>> pairs = {{1, 'a'}, {2, 'b'}, {1, 'c'}, {2, 'd'}};
    sort_few(pairs, std::greater{}, &std::pair<int, char>::first);
    EXPECT_EQ(pairs, (std::vector<std::pair<int, char>>{{2, 'b'}, {2, 'd'}, {1, 'a'}, {1, 'c'}}));
}

TEST(Format, NamesSizesTheWayPeopleReadThem) {
    EXPECT_EQ(format_bytes(0), "0 bytes");
    EXPECT_EQ(format_bytes(1536), "1.5 KiB");
    EXPECT_EQ(format_bytes(3'650'722'202), "3.4 GiB");
}

TEST(Format, TamesTextFromOutside) {
    EXPECT_EQ(printable("a\nb\x1b[31m"), "a?b?[31m");
    EXPECT_EQ(printable("ééé", 3), "é…");  // cut between characters
    EXPECT_EQ(printable("a\xff\xc3 \xed\xa0\x80 €"), "a?? ??? €");
}

TEST(Half, RoundTripsEveryF16) {
    for (uint32_t bits = 0; bits < 0x10000; ++bits) {
        const float value = f16_to_f32(uint16_t(bits));
        if (std::isnan(value)) {
            EXPECT_TRUE(std::isnan(f16_to_f32(f32_to_f16(value))));
        } else {
            ASSERT_EQ(f32_to_f16(value), bits);
        }
    }
}

TEST(Half, RoundsToNearestEven) {
    EXPECT_EQ(f32_to_f16(1.0f + 0x1p-11f), 0x3C00);      // a tie goes down to even
    EXPECT_EQ(f32_to_f16(1.0f + 3 * 0x1p-11f), 0x3C02);  // and up to even
    EXPECT_EQ(f32_to_f16(65519.0f), 0x7BFF);             // the largest finite
    EXPECT_EQ(f32_to_f16(65520.0f), 0x7C00);             // a tie with infinity
    EXPECT_EQ(f32_to_f16(0x1p-25f), 0x0000);             // half of the smallest subnormal
    EXPECT_EQ(f32_to_f16(std::nextafterf(0x1p-25f, 1)), 0x0001);
    EXPECT_EQ(f32_to_f16(-0.0f), 0x8000);
    EXPECT_EQ(f32_to_bf16(1.0f + 0x1p-8f), 0x3F80);
    EXPECT_EQ(f32_to_bf16(1.0f + 3 * 0x1p-8f), 0x3F82);
    EXPECT_TRUE(std::isnan(bf16_to_f32(f32_to_bf16(std::numeric_limits<float>::quiet_NaN()))));
}

TEST(Checked, SaysWhenAnAnswerDoesNotFit) {
    EXPECT_EQ(checked_add<uint64_t>(~0ull, 1), std::nullopt);
    EXPECT_EQ(checked_mul<int64_t>(1ll << 62, 2), std::nullopt);
    EXPECT_EQ(checked_mul<uint64_t>(1ull << 31, 1ull << 31), 1ull << 62);
    EXPECT_EQ(checked_align_up<uint64_t>(33, 32), 64u);
    EXPECT_EQ(checked_align_up<uint64_t>(~0ull - 3, 32), std::nullopt);
}

TEST(TensorType, SizesRowsAndKnowsWhatItCannotDecode) {
    EXPECT_EQ(row_bytes(TensorType::q4_k, 512), 288u);
    EXPECT_EQ(row_bytes(TensorType::mxfp4, 64), 34u);
    EXPECT_EQ(find_tensor_type(4), nullptr);
    EXPECT_FALSE(find_tensor_type(16)->decodable);
}

// A wait that the test ends by hand.
struct Gate {
    std::coroutine_handle<> waiting;
    bool await_ready() { return false; }
    void await_suspend(std::coroutine_handle<> handle) { waiting = handle; }
    void await_resume() {}
};

Task<Result<int>> halve(int value) {
    if (value % 2 != 0) co_return fail(Code::invalid_argument, "{} is odd", value);
    co_return value / 2;
}

Task<Result<int>> quarter(int value, Gate* gate) {
    const int half = CO_TRY(co_await halve(value));
    if (gate != nullptr) co_await *gate;
    co_return CO_TRY(co_await halve(half));
}

TEST(Task, PassesValuesAndErrorsUp) {
    EXPECT_EQ(**quarter(12, nullptr).run_now(), 3);
    const auto odd = quarter(6, nullptr).run_now();
    ASSERT_TRUE(odd.has_value());
    EXPECT_EQ(odd->error().message, "3 is odd");
}

TEST(Task, FinishesWhenWhatItWaitedForArrives) {
    Gate gate;
    int answer = 0;
    start<Result<int>>(quarter(8, &gate), [&](Result<int> result) { answer = *result; });
    EXPECT_EQ(answer, 0);
    gate.waiting.resume();
    EXPECT_EQ(answer, 2);
}

TEST(Task, DestroyedWhileWaitingFreesItsFrame) {
    Gate gate;
    auto task = quarter(8, &gate);
    EXPECT_FALSE(std::move(task).run_now().has_value());
}  // the leak checker has the last word

TEST(Cancel, WakesListenersOnce) {
    Cancel cancel;
    int woken = 0;
    cancel.add_listener([&] { ++woken; });
    const uint32_t removed = cancel.add_listener([&] { woken += 100; });
    cancel.remove_listener(removed);
    EXPECT_TRUE(cancel.check().has_value());
    Cancel copy = cancel;
    copy.request();
    copy.request();
    EXPECT_EQ(woken, 1);
    EXPECT_EQ(cancel.check().error().code, Code::cancelled);
}

TEST(MemorySource, ReadsInsideAndRefusesBeyondTheEnd) {
    MemorySource source({1, 2, 3, 4});
    EXPECT_EQ(**source.read({1, 2}, {}).run_now(), (Bytes{2, 3}));
    EXPECT_EQ((*source.read({4, 0}, {}).run_now())->size(), 0u);
    EXPECT_EQ((*source.read({3, 2}, {}).run_now()).error().code, Code::truncated);
    EXPECT_EQ((*source.read({~0ull, 2}, {}).run_now()).error().code, Code::truncated);
}

std::string g_logged;

TEST(Log, ReachesTheHost) {
    log(LogLevel::info, "lost");
    set_log_sink([](LogLevel level, std::string_view message) { g_logged = format("{}:{}", int(level), message); });
    log(LogLevel::warning, "{} left", 3);
    set_log_sink(nullptr);
    EXPECT_EQ(g_logged, "2:3 left");
}

}  // namespace
}  // namespace lapidary
