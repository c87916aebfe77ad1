// A model of embeddings at the door: what it says of itself, what it gives, and what it refuses.
#include <gtest/gtest.h>

#include <cstring>

#include "api/api.h"
#include "api/token_blob.h"
#include "testing/fake_host.h"
#include "testing/files.h"
#include "testing/safetensors.h"

namespace lapidary::api {
namespace {

using nlohmann::json;

class EmbedTest : public ::testing::Test {
  protected:
    EmbedTest() {
        host.sources[1] = *testing::read_file("tests/data/fixtures/tiny-embedding-q8_0.gguf");
        model = call("model.open", {{"sources", {{{"id", 1}, {"size", host.sources[1].size()}}}}}).json["model"];
        EXPECT_TRUE(call("model.load", {{"model", model}}).ok);
        session = call("session.create", {{"model", model}}).json["session"];
    }
    testing::FinishedCall call(std::string_view method, const json& args, std::span<const uint8_t> blob = {}) {
        api.call(++last, method, args.dump(), blob);
        host.run(api);
        EXPECT_TRUE(host.finished.contains(last)) << method << " never finished";
        return host.finished[last];
    }

    testing::FakeHost host;
    Api api{host};
    uint32_t model = 0;
    uint32_t session = 0;
    uint32_t last = 0;
};

TEST_F(EmbedTest, SaysWhatItIs) {
    const json description = call("model.describe", {{"model", model}}).json;
    EXPECT_EQ(description["capabilities"], json{"embedding"});
    EXPECT_EQ(description["embedding_size"], 96);
    EXPECT_EQ(description["supported"], true);
}

TEST_F(EmbedTest, GivesTheVectorsOfManyTexts) {
    auto expected = *testing::read_safetensors("tests/data/fixtures/tiny-embedding-q8_0.safetensors");
    std::vector<int32_t> tokens;
    std::vector<float> vectors;
    json lengths = json::array();
    for (const char* text : {"1.", "4.", "0."}) {
        const auto& ids = expected[std::string(text) + "ids"].integers;
        const auto& vector = expected[std::string(text) + "dense3"].floats;
        lengths.push_back(ids.size());
        tokens.insert(tokens.end(), ids.begin(), ids.end());
        vectors.insert(vectors.end(), vector.begin(), vector.end());
    }
    const auto reply = call("session.embed", {{"session", session}, {"lengths", lengths}}, to_blob(tokens));
    ASSERT_TRUE(reply.ok) << reply.json.dump();
    EXPECT_EQ(reply.json, (json{{"tokens", tokens.size()}, {"texts", 3}, {"width", 96}}));
    std::vector<float> actual(reply.blob.size() / sizeof(float));
    std::memcpy(actual.data(), reply.blob.data(), reply.blob.size());
    ASSERT_EQ(actual.size(), vectors.size());
    EXPECT_LE(testing::relative_l2(actual, vectors), 2e-5);
}

TEST_F(EmbedTest, RefusesToWrite) {
    const std::vector<int32_t> tokens = {2, 300, 1};
    const std::vector<std::pair<std::string, json>> calls = {
        {"session.generate", {{"session", session}, {"prompt", "Once"}}},
        {"session.generate", {{"session", session}, {"messages", {{{"role", "user"}, {"content", "Hello"}}}}}},
        {"session.logits", {{"session", session}, {"sink", 2}}},
        {"session.bench", {{"session", session}, {"prompt", 4}, {"decode", 2}}},
        {"train.bench", {{"model", model}}}};
    for (const auto& [method, args] : calls) {
        const auto reply = call(method, args, method == "session.logits" ? to_blob(tokens) : Bytes{});
        EXPECT_FALSE(reply.ok) << method;
        EXPECT_EQ(reply.json["code"], "unsupported") << method;
        EXPECT_TRUE(reply.json["message"].get<std::string>().starts_with("this is a model of embeddings")) << method;
    }
}

}  // namespace
}  // namespace lapidary::api
