// Synthetic models from end to end: made, opened, loaded, and made to talk.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "api/api.h"
#include "api/token_blob.h"
#include "model/synth.h"
#include "testing/fake_host.h"
#include "testing/fixture_names.h"
#include "tokenizer/tokenizer.h"

namespace lapidary::api {
namespace {

using nlohmann::json;

class SynthTest : public ::testing::TestWithParam<const char*> {
  protected:
    testing::FinishedCall call(std::string_view method, const json& args, std::span<const uint8_t> blob = {}) {
        api.call(++last, method, args.dump(), blob);
        host.run(api);
        EXPECT_TRUE(host.finished.contains(last)) << method << " never finished";
        return host.finished[last];
    }

    // Made, opened and loaded; the session's number.
    uint32_t session(const char* type) {
        const auto made = call("model.synth", {{"variant", GetParam()}, {"type", type}, {"seed", 5}, {"sink", 1}});
        EXPECT_TRUE(made.ok) << made.json.dump();
        EXPECT_EQ(made.json["bytes"], host.sinks[1].size());
        host.sources[1] = std::exchange(host.sinks[1], {});
        const auto opened = call("model.open", {{"sources", {{{"id", 1}, {"size", host.sources[1].size()}}}}});
        EXPECT_TRUE(opened.ok) << opened.json.dump();
        const uint32_t model = opened.json["model"];
        EXPECT_EQ(call("model.describe", {{"model", model}}).json["supported"], true);
        EXPECT_TRUE(call("model.load", {{"model", model}}).ok);
        return call("session.create", {{"model", model}, {"context", 64}}).json["session"];
    }

    testing::FakeHost host;
    Api api{host};
    uint32_t last = 0;
};

TEST_P(SynthTest, LogitsAreFiniteAndDiffer) {
    for (const char* type : {"q4_k_m", "Q4_0", "q8_0", "f16", "bf16", "f32"}) {
        SCOPED_TRACE(type);
        const std::vector<int32_t> tokens = {2, 300, 301, 400, 511, 300};
        const auto done = call("session.logits", {{"session", session(type)}, {"sink", 2}}, to_blob(tokens));
        ASSERT_TRUE(done.ok) << done.json.dump();
        const Bytes bytes = std::exchange(host.sinks[2], {});
        std::vector<float> logits(bytes.size() / sizeof(float));
        std::memcpy(logits.data(), bytes.data(), bytes.size());
        ASSERT_EQ(logits.size(), tokens.size() * 512);
        double squares = 0;
        for (const float v : logits) {
            ASSERT_TRUE(std::isfinite(v));
            squares += double(v) * v / double(logits.size());
        }
        // A vector of size 1 times weights of 1/sqrt(length).
        EXPECT_NEAR(std::sqrt(squares), 1, 0.3);
    }
}

TEST_P(SynthTest, SaysAsMuchAsItIsAskedFor) {
    const json request = {{"session", session("q4_k_m")}, {"prompt", "and the thing"}, {"max_tokens", 12}};
    const auto answer = call("session.generate", request);
    ASSERT_TRUE(answer.ok) << answer.json.dump();
    EXPECT_EQ(answer.json["completion_tokens"], 12);
}

INSTANTIATE_TEST_SUITE_P(All, SynthTest,
                         ::testing::Values("tiny-e2b", "tiny-31b", "tiny-one", "tiny-moe", "tiny-diffusion"),
                         testing::parameter_name);

TEST(SynthMethod, RefusesWhatDoesNotExist) {
    testing::FakeHost host;
    Api api{host};
    const auto code = [&](const json& args) {
        api.call(1, "model.synth", args.dump(), {});
        host.run(api);
        EXPECT_FALSE(host.finished[1].ok);
        return host.finished[1].json["code"].get<std::string>();
    };
    EXPECT_EQ(code({{"variant", "270m"}, {"type", "q4_0"}, {"sink", 1}}), "not_found");
    EXPECT_EQ(code({{"variant", "e2b"}, {"type", "q3_k"}, {"sink", 1}}), "unsupported");
    EXPECT_EQ(code({{"variant", "e2b"}, {"sink", 1}}), "invalid_argument");
    EXPECT_EQ(code({{"variant", "e2b"}, {"type", "q4_0"}, {"seed", -1}, {"sink", 1}}), "invalid_argument");
    EXPECT_EQ(code({{"variant", "e2b"}, {"type", "q4_0"}}), "invalid_argument");
    EXPECT_TRUE(host.sinks.empty());
}

TEST(SynthMethod, StopsAtOnceWhileAPieceIsBeingWritten) {
    testing::FakeHost host;
    Api api{host};
    api.call(1, "model.synth", R"({"variant": "tiny-e2b", "type": "f32", "sink": 1})", {});
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(host.step(api));
    ASSERT_FALSE(host.finished.contains(1));
    api.cancel(1);
    ASSERT_TRUE(host.finished.contains(1));
    EXPECT_EQ(host.finished[1].json["code"], "cancelled");
    host.run(api);  // what the host was still busy with finds nobody waiting
}

TEST(SynthMethod, EverySizeHasAVocabularyOfItsOwnSize) {
    for (const char* variant : {"tiny-e2b", "e2b"}) {
        const auto plan = *model::plan_synth(variant, quant::Mix::q4_k_m);
        const auto parsed =
            gguf::parse_header(std::make_shared<const Bytes>(plan.layout.header), plan.layout.file_size);
        ASSERT_TRUE(parsed) << parsed.error().message;
        const auto tokenizer = tokenizer::Tokenizer::create(std::get<gguf::Header>(*parsed));
        ASSERT_TRUE(tokenizer) << tokenizer.error().message;
        EXPECT_EQ((*tokenizer)->size(), plan.config.vocabulary);
        const std::string text = "and the thing: 1 < 2\n✓";
        const auto ids = (*tokenizer)->encode(text, {.add_bos = true});
        EXPECT_EQ(ids.front(), 2);
        EXPECT_LT(ids.size(), text.size());  // the merges do something
        EXPECT_EQ((*tokenizer)->decode(std::span(ids).subspan(1), true), text);
        EXPECT_EQ((*tokenizer)->encode("<|turn>", {.add_bos = false}).size(), 1u);
    }
}

}  // namespace
}  // namespace lapidary::api
