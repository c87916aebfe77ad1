#include <gtest/gtest.h>

#include <cstring>

#include "api/api.h"
#include "api/token_blob.h"
#include "lora/write.h"
#include "testing/adapter_samples.h"
#include "testing/fake_host.h"
#include "testing/files.h"
#include "testing/fixture_model.h"
#include "testing/safetensors.h"

namespace lapidary::api {
namespace {

using nlohmann::json;

constexpr const char* kAdapterBase = "tests/data/fixtures/tiny-e2b-q4km.gguf";

class AdapterApiTest : public ::testing::Test {
  protected:
    void SetUp() override {
        host.sources[1] = *testing::read_file(kAdapterBase);
        model = open();
        EXPECT_TRUE(call("model.load", {{"model", model}}).ok);
        session = call("session.create", {{"model", model}, {"context", 64}}).json["session"];
        const auto fixture = testing::load_model(kAdapterBase);
        const auto random = testing::random_adapter(*fixture->table, testing::kUsualTargets, 4, 2, 7, 0.2f);
        file = *lora::write_gguf(random, *fixture->table, TensorType::f32);
    }
    uint32_t open() {
        return call("model.open", {{"sources", {{{"id", 1}, {"size", host.sources[1].size()}}}}}).json["model"];
    }
    testing::FinishedCall call(std::string_view method, const json& args, std::span<const uint8_t> blob = {}) {
        api.call(++last, method, args.dump(), blob);
        host.run(api);
        EXPECT_TRUE(host.finished.contains(last)) << method << " never finished";
        return host.finished[last];
    }
    uint32_t load() {
        const auto loaded = call("adapter.load", {{"model", model}, {"name", "mine"}}, file);
        EXPECT_TRUE(loaded.ok) << loaded.json.dump();
        return loaded.json["adapter"];
    }
    testing::FinishedCall generate(const json& adapters) {
        return call("session.generate", {{"session", session},
                                         {"prompt", "abc"},
                                         {"max_tokens", 12},
                                         {"sampling", {{"temperature", 1}, {"seed", 5}}},
                                         {"adapters", adapters}});
    }
    std::vector<int32_t> tokens() {
        std::vector<int32_t> out;
        for (const json& event : host.events[last]) {
            if (event["type"] == "text") {
                for (const int32_t token : event["tokens"]) out.push_back(token);
            }
        }
        return out;
    }
    std::vector<float> logits(uint32_t of, const json& adapters) {
        host.sinks.clear();
        const std::vector<int32_t> ids = {2, 5, 9};
        const auto done = call("session.logits", {{"session", of}, {"sink", 3}, {"adapters", adapters}}, to_blob(ids));
        EXPECT_TRUE(done.ok) << done.json.dump();
        std::vector<float> out(host.sinks[3].size() / 4);
        std::memcpy(out.data(), host.sinks[3].data(), host.sinks[3].size());
        return out;
    }

    testing::FakeHost host;
    Api api{host};
    uint32_t last = 0;
    uint32_t model = 0;
    uint32_t session = 0;
    Bytes file;
};

TEST_F(AdapterApiTest, LoadsDescribesAndCloses) {
    const auto loaded = call("adapter.load", {{"model", model}, {"name", "mine"}}, file);
    ASSERT_TRUE(loaded.ok) << loaded.json.dump();
    EXPECT_EQ(loaded.json["description"]["format"], "gguf");
    EXPECT_EQ(loaded.json["description"]["name"], "mine");
    EXPECT_EQ(loaded.json["description"]["ranks"], json::array({4}));
    EXPECT_EQ(loaded.json["description"]["alpha"], 8);
    const uint32_t adapter = loaded.json["adapter"];
    const auto described = call("adapter.describe", {{"adapter", adapter}});
    EXPECT_EQ(described.json["targets"].size(), 7u);
    EXPECT_EQ(described.json["updates"][0]["target"], "attn_q");
    EXPECT_TRUE(call("adapter.close", {{"adapter", adapter}}).ok);
    EXPECT_EQ(call("adapter.describe", {{"adapter", adapter}}).json["code"], "not_found");
    EXPECT_EQ(generate({{{"adapter", adapter}}}).json["code"], "not_found");
    EXPECT_FALSE(call("adapter.load", {{"model", model}}, Bytes{1, 2, 3}).ok);
}

TEST_F(AdapterApiTest, EveryFormatGivesTheSameAnswer) {
    const uint32_t adapter = load();
    ASSERT_TRUE(generate(json::array()).ok);
    const auto plain = tokens();
    ASSERT_TRUE(generate({{{"adapter", adapter}}}).ok);
    const auto expected = tokens();
    EXPECT_NE(expected, plain) << "the adapter changes nothing";
    for (const char* format : {"peft", "zip", "gguf"}) {
        const auto exported = call("adapter.export", {{"adapter", adapter}, {"format", format}});
        ASSERT_TRUE(exported.ok) << exported.json.dump();
        const auto part = [&](const json& entry) {
            return std::span<const uint8_t>(exported.blob).subspan(entry["offset"], entry["size"]);
        };
        const json& files = exported.json["files"];
        json args = {{"model", model}};
        if (files.size() == 2) {
            const auto config = part(files[0]);
            args["config"] = std::string(config.begin(), config.end());
        }
        const auto again = call("adapter.load", args, part(files.back()));
        ASSERT_TRUE(again.ok) << again.json.dump();
        ASSERT_TRUE(generate({{{"adapter", again.json["adapter"]}}}).ok);
        EXPECT_EQ(tokens(), expected) << format;
    }
    EXPECT_FALSE(call("adapter.export", {{"adapter", adapter}, {"format", "mlx"}}).ok);
    EXPECT_FALSE(call("adapter.export", {{"adapter", adapter}, {"format", "peft"}, {"type", "q8_0"}}).ok);
    EXPECT_TRUE(call("adapter.export", {{"adapter", adapter}, {"format", "gguf"}, {"type", "q8_0"}}).ok);
}

TEST_F(AdapterApiTest, ASessionKeepsWhatItHoldsForTheSameAdaptersOnly) {
    const uint32_t adapter = load();
    const json one = {{{"adapter", adapter}}};
    EXPECT_EQ(generate(one).json["cached_tokens"], 0);
    EXPECT_GT(generate(one).json["cached_tokens"], 0);
    EXPECT_EQ(generate({{{"adapter", adapter}, {"scale", 0.5}}}).json["cached_tokens"], 0);
    EXPECT_GT(generate({{{"adapter", adapter}, {"scale", 0.5}}}).json["cached_tokens"], 0);
    EXPECT_EQ(generate(json::array()).json["cached_tokens"], 0);
    EXPECT_GT(generate({{{"adapter", adapter}, {"scale", 0}}}).json["cached_tokens"], 0) << "0 is none";
}

TEST_F(AdapterApiTest, AddsUpAndMerges) {
    const uint32_t adapter = load();
    const json twice = {{{"adapter", adapter}, {"scale", 0.25}}, {{"adapter", adapter}, {"scale", 0.25}}};
    const json half = {{{"adapter", adapter}, {"scale", 0.5}}};
    const auto expected = logits(session, half);
    EXPECT_LE(testing::relative_l2(logits(session, twice), expected), 1e-5);
    EXPECT_GT(testing::relative_l2(logits(session, json::array()), expected), 1e-3);
    const auto merged = call("model.merge", {{"model", model}, {"adapters", half}, {"type", "f32"}, {"sink", 9}});
    ASSERT_TRUE(merged.ok) << merged.json.dump();
    EXPECT_EQ(merged.json["bytes"], host.sinks[9].size());
    host.sources[1] = host.sinks[9];
    const uint32_t other = open();
    EXPECT_TRUE(call("model.load", {{"model", other}}).ok);
    const uint32_t its = call("session.create", {{"model", other}, {"context", 64}}).json["session"];
    EXPECT_LE(testing::relative_l2(logits(its, json::array()), expected), 1e-5);
    // An adapter belongs to the model it was loaded for.
    const auto foreign =
        call("session.generate", {{"session", its}, {"prompt", "a"}, {"max_tokens", 1}, {"adapters", half}});
    EXPECT_NE(foreign.json["message"].get<std::string>().find("another model"), std::string::npos);
}

TEST_F(AdapterApiTest, RefusesNonsense) {
    EXPECT_FALSE(generate("all").ok);
    EXPECT_FALSE(generate({{{"adapter", 99}}}).ok);
    EXPECT_FALSE(generate({{{"adapter", load()}, {"scale", 1e300}}}).ok);
    EXPECT_FALSE(call("model.merge", {{"model", model}, {"type", "same"}, {"sink", 9}}).ok);
}

TEST_F(AdapterApiTest, SavedSessionsKnowTheirAdapters) {
    const uint32_t adapter = load();
    const json one = {{{"adapter", adapter}}};
    ASSERT_TRUE(generate(one).ok);
    ASSERT_TRUE(call("session.save", {{"session", session}, {"sink", 5}}).ok);
    host.sources[5] = host.sinks[5];
    const json source = {{"id", 5}, {"size", host.sources[5].size()}};
    EXPECT_FALSE(call("session.restore", {{"session", session}, {"source", source}}).ok);
    const auto restored = call("session.restore", {{"session", session}, {"source", source}, {"adapters", one}});
    EXPECT_TRUE(restored.ok) << restored.json.dump();
    EXPECT_GT(generate(one).json["cached_tokens"], 0);
}

}  // namespace
}  // namespace lapidary::api
