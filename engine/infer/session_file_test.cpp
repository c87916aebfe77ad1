#include "infer/session_file.h"

#include <gtest/gtest.h>

#include <cstring>

#include "testing/fixture_model.h"

namespace lapidary::infer {
namespace {

class MemorySink final : public ByteSink {
  public:
    Bytes bytes;
    Task<Status> write(uint64_t offset, Bytes piece, Cancel /*cancel*/) override {
        if (offset != bytes.size()) co_return fail(Code::internal, "the pieces do not follow each other");
        bytes.insert(bytes.end(), piece.begin(), piece.end());
        co_return Status{};
    }
};

class SessionFileTest : public ::testing::Test {
  protected:
    static constexpr uint64_t kPrint = 77;

    static void SetUpTestSuite() {
        if (model == nullptr) {
            model = new testing::FixtureModel(*testing::load_model("tests/data/fixtures/tiny-e2b-q4_0.gguf"));
        }
    }
    static Session session(uint32_t context) {
        return {model->runner(context), [] { return 0.0; }};
    }
    static GenerateStats go_on(Session& session, std::vector<int32_t> prompt, std::vector<int32_t>& answer) {
        GenerateOptions options{.max_tokens = 6};
        options.sampling.temperature = 0;
        GenerateListener listener;
        listener.on_token = [&](int32_t token) {
            answer.push_back(token);
            return true;
        };
        const auto stats =
            *session.generate({.tokens = std::move(prompt)}, options, std::move(listener), nullptr).run_now();
        EXPECT_TRUE(stats) << stats.error().message;
        return stats ? *stats : GenerateStats{};
    }
    static Bytes saved(Session& session) {
        MemorySink sink;
        const auto bytes = *save_session(session, sink, {.fingerprint = kPrint}).run_now();
        EXPECT_TRUE(bytes) << bytes.error().message;
        EXPECT_EQ(sink.bytes.size(), bytes.value_or(0));
        return std::move(sink.bytes);
    }
    static Status restored(Session& session, Bytes bytes, uint64_t fingerprint = kPrint) {
        MemorySource source(std::move(bytes));
        return *restore_session(session, source, {.fingerprint = fingerprint}).run_now();
    }
    static std::string refusal(Session& session, Bytes bytes, uint64_t fingerprint = kPrint) {
        const Status status = restored(session, std::move(bytes), fingerprint);
        return status ? "accepted" : status.error().message;
    }

    static inline testing::FixtureModel* model = nullptr;
    std::vector<int32_t> prompt = {2, 30, 41, 52, 63, 74, 85, 96};
};

TEST_F(SessionFileTest, GoesOnAsIfNothingHadHappened) {
    Session first = session(64);
    std::vector<int32_t> begun;
    go_on(first, prompt, begun);
    const Bytes bytes = saved(first);

    Session second = session(48);
    const Status status = restored(second, bytes);
    ASSERT_TRUE(status) << status.error().message;
    ASSERT_TRUE(std::ranges::equal(first.tokens(), second.tokens()));
    std::vector<int32_t> next(first.tokens().begin(), first.tokens().end());
    next.insert(next.end(), {7, 8});
    std::vector<int32_t> expected;
    std::vector<int32_t> answer;
    go_on(first, next, expected);
    const GenerateStats stats = go_on(second, next, answer);
    EXPECT_EQ(answer, expected);
    EXPECT_EQ(stats.cached_tokens, next.size() - 2);
}

TEST_F(SessionFileTest, AnEmptySessionIsOneToo) {
    Session first = session(16);
    Session second = session(16);
    std::vector<int32_t> answer;
    go_on(second, prompt, answer);
    ASSERT_TRUE(restored(second, saved(first)));
    EXPECT_TRUE(second.tokens().empty());
}

TEST_F(SessionFileTest, RefusesWhatDoesNotFitAndKeepsWhatItHeld) {
    Session first = session(64);
    std::vector<int32_t> answer;
    go_on(first, prompt, answer);
    const Bytes good = saved(first);
    const auto tokens = std::vector<int32_t>(first.tokens().begin(), first.tokens().end());

    EXPECT_EQ(refusal(first, good, kPrint + 1), "the session was saved with another model");
    EXPECT_EQ(refusal(first, {}), "this is not a saved session");
    EXPECT_EQ(refusal(first, Bytes(1000, 'x')), "this is not a saved session");
    EXPECT_NE(refusal(first, Bytes(good.begin(), good.end() - 4)).find("ends after"), std::string::npos);
    Bytes newer = good;
    newer[8] = 2;
    EXPECT_NE(refusal(first, newer).find("version 2"), std::string::npos);
    for (const size_t at : {12u, 16u, 24u, 32u, 56u}) {
        Bytes damaged = good;
        damaged[at] ^= 1;
        EXPECT_NE(refusal(first, damaged).find("damaged"), std::string::npos) << "byte " << at;
    }
    Session small = session(8);
    EXPECT_NE(refusal(small, good).find("the context holds 8"), std::string::npos);
    EXPECT_TRUE(std::ranges::equal(first.tokens(), tokens));
}

TEST_F(SessionFileTest, DamagedMemoryLeavesAnEmptySessionThatWorks) {
    Session first = session(64);
    std::vector<int32_t> expected;
    go_on(first, prompt, expected);
    const Bytes good = saved(first);
    for (const size_t at : {size_t{70}, good.size() / 2, good.size() - 9, good.size() - 1}) {
        Bytes damaged = good;
        damaged[at] ^= 0x80;
        EXPECT_NE(refusal(first, damaged).find("damaged"), std::string::npos) << "byte " << at;
        std::vector<int32_t> answer;
        go_on(first, prompt, answer);
        EXPECT_EQ(answer, expected);
    }
}

}  // namespace
}  // namespace lapidary::infer
