#include "api/api.h"

#include <gtest/gtest.h>

#include "api/token_blob.h"
#include "testing/fake_host.h"
#include "testing/files.h"

namespace lapidary::api {
namespace {

using nlohmann::json;

class ApiTest : public ::testing::Test {
  protected:
    testing::FinishedCall call(std::string_view method, const json& args, std::span<const uint8_t> blob = {}) {
        const uint32_t id = start_call(method, args, blob);
        host.run(api);
        EXPECT_TRUE(host.finished.contains(id)) << method << " never finished";
        return host.finished[id];
    }
    uint32_t start_call(std::string_view method, const json& args, std::span<const uint8_t> blob = {}) {
        api.call(++last, method, args.dump(), blob);
        return last;
    }
    std::vector<json>& events() { return host.events[last]; }

    uint32_t open(const std::string& path) {
        host.sources[1] = *testing::read_file(path);
        const auto opened = call("model.open", {{"sources", {{{"id", 1}, {"size", host.sources[1].size()}}}}});
        EXPECT_TRUE(opened.ok) << opened.json.dump();
        return opened.json["model"];
    }
    uint32_t session(uint32_t model) {
        EXPECT_TRUE(call("model.load", {{"model", model}}).ok);
        const auto created = call("session.create", {{"model", model}});
        EXPECT_TRUE(created.ok) << created.json.dump();
        return created.json["session"];
    }

    testing::FakeHost host;
    Api api{host};
    uint32_t last = 0;
};

constexpr const char* kStoryteller = "models/storyteller-q4_k_m.gguf";
constexpr const char* kTiny = "tests/data/fixtures/tiny-e2b-q4km.gguf";

std::span<const uint8_t> bytes_of(std::string_view text) {
    return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

TEST_F(ApiTest, RefusesWhatItDoesNotUnderstand) {
    const auto code = [&](std::string_view method, std::string_view text) {
        api.call(++last, method, text, {});
        host.run(api);
        EXPECT_FALSE(host.finished[last].ok);
        return host.finished[last].json["code"].get<std::string>();
    };
    EXPECT_EQ(code("model.fly", "{}"), "not_found");
    EXPECT_EQ(code("model.open", "{"), "invalid_argument");
    EXPECT_EQ(code("model.open", "[]"), "invalid_argument");
    EXPECT_EQ(code("model.open", "{}"), "invalid_argument");
    EXPECT_EQ(code("model.open", R"({"sources":[{"id":-1,"size":3}]})"), "invalid_argument");
    EXPECT_EQ(code("model.open", R"({"sources":[7]})"), "invalid_argument");
    EXPECT_EQ(code("model.describe", R"({"model":99})"), "not_found");
    EXPECT_EQ(code("session.generate", R"({"session":"one"})"), "invalid_argument");
}

TEST_F(ApiTest, OpensByReadingTheHeaderOnly) {
    open(kStoryteller);
    EXPECT_LT(host.bytes_read, host.sources[1].size() / 10);
}

TEST_F(ApiTest, DescribesAModel) {
    const auto description = call("model.describe", {{"model", open(kStoryteller)}}).json;
    EXPECT_EQ(description["architecture"], "gemma4");
    EXPECT_EQ(description["name"], "Storyteller");
    EXPECT_EQ(description["supported"], true);
    EXPECT_EQ(description["layers"], 8);
    EXPECT_EQ(description["context_length"], 2048);
    EXPECT_EQ(description["file_bytes"], host.sources[1].size());
    uint64_t tensors = 0;
    for (const json& type : description["quantization"]) tensors += type["tensors"].get<uint64_t>();
    EXPECT_EQ(tensors, description["tensors"]);
}

TEST_F(ApiTest, TellsOnlyWhatAModelWasTaught) {
    // It has the tokens for thoughts and calls, but never learnt to use them.
    const auto description = call("model.describe", {{"model", open(kStoryteller)}}).json;
    EXPECT_EQ(description["capabilities"], json({"completion"}));
}

TEST_F(ApiTest, ScoresATextTokenByToken) {
    const uint32_t model = open(kTiny);
    const uint32_t id = session(model);
    const auto plain = call("model.tokenize", {{"model", model}, {"add_bos", false}}, bytes_of("Once upon a time"));
    const auto ids = call("model.tokenize", {{"model", model}, {"add_bos", true}}, bytes_of("Once upon a time"));
    const auto scored = call("session.score", {{"session", id}, {"top", 2}}, ids.blob);
    ASSERT_TRUE(scored.ok) << scored.json.dump();
    const json& scores = scored.json["scores"];
    const auto tokens = *from_blob(ids.blob);
    ASSERT_EQ(scores.size(), tokens.size() - 1);
    double sum = 0;
    for (size_t i = 0; i < scores.size(); ++i) {
        EXPECT_EQ(scores[i]["token"], tokens[i + 1]);
        EXPECT_EQ(scores[i]["top"].size(), 2u);
        EXPECT_GE(scores[i]["top"][0]["logprob"], scores[i]["logprob"]);
        sum += scores[i]["logprob"].get<double>();
    }
    // The mean that another method comes to, which puts the token that begins a text there by itself.
    const auto whole = call("session.perplexity", {{"session", id}}, plain.blob).json;
    ASSERT_EQ(whole["tokens"], scores.size());
    EXPECT_NEAR(whole["nll"].get<double>(), -sum / double(scores.size()), 1e-4);
    EXPECT_FALSE(call("session.score", {{"session", id}}).ok);
    const std::vector<int32_t> wrong = {1, 1 << 30};
    EXPECT_FALSE(call("session.score", {{"session", id}}, to_blob(wrong)).ok);
}

TEST_F(ApiTest, ContinuesTokensAsTheyAre) {
    const uint32_t model = open(kTiny);
    const uint32_t id = session(model);
    const auto ids = call("model.tokenize", {{"model", model}, {"add_bos", true}}, bytes_of("Once upon a time"));
    json request = {{"session", id}, {"prompt", "Once upon a time"}, {"max_tokens", 5}, {"sampling", {{"seed", 3}}}};
    const auto from_text = call("session.generate", request).json;
    request.erase("prompt");
    request["prompt_tokens"] = *from_blob(ids.blob);
    const auto from_tokens = call("session.generate", request).json;
    EXPECT_EQ(from_tokens["text"], from_text["text"]);
    EXPECT_EQ(from_tokens["prompt_tokens"], from_text["prompt_tokens"]);
    for (const json& wrong : {json("abc"), json({-1}), json({99999999}), json({1.5}), json::array()}) {
        request["prompt_tokens"] = wrong;
        EXPECT_FALSE(call("session.generate", request).ok) << wrong.dump();
    }
}

TEST_F(ApiTest, AReadThatFailsBecomesTheErrorOfTheCall) {
    host.broken_sources[1] = "the server hung up";
    host.sources[1] = {0};
    const auto opened = call("model.open", {{"sources", {{{"id", 1}, {"size", 1000}}}}});
    EXPECT_FALSE(opened.ok);
    EXPECT_EQ(opened.json["code"], "io");
    EXPECT_EQ(opened.json["message"], "the server hung up");
}

TEST_F(ApiTest, TokenizesAndBack) {
    const uint32_t model = open(kStoryteller);
    const auto ids = call("model.tokenize", {{"model", model}, {"pieces", true}}, bytes_of("Once upon a time"));
    ASSERT_TRUE(ids.ok) << ids.json.dump();
    EXPECT_EQ(ids.json["pieces"][0], "<bos>");
    const auto text = call("model.detokenize", {{"model", model}, {"special", false}}, ids.blob);
    EXPECT_EQ(text.json["text"], "Once upon a time");
    const std::vector<int32_t> foreign = {123456};
    EXPECT_FALSE(call("model.detokenize", {{"model", model}}, to_blob(foreign)).ok);
    EXPECT_FALSE(call("model.detokenize", {{"model", model}}, bytes_of("abc")).ok);
}

TEST_F(ApiTest, TheSameSeedTellsTheSameStory) {
    const uint32_t id = session(open(kStoryteller));
    const json request = {{"session", id},
                          {"prompt", "Once upon a time"},
                          {"max_tokens", 12},
                          {"sampling", {{"temperature", 0.8}, {"seed", 3}}}};
    const auto first = call("session.generate", request);
    ASSERT_TRUE(first.ok) << first.json.dump();
    std::string streamed;
    for (const json& event : events()) {
        if (event["type"] == "text") streamed += event["text"].get<std::string>();
    }
    EXPECT_EQ(first.json["text"], streamed);
    EXPECT_EQ(first.json["completion_tokens"], 12);
    EXPECT_EQ(first.json["finish_reason"], "length");
    EXPECT_EQ(first.json["cached_tokens"], 0);
    const auto second = call("session.generate", request);
    EXPECT_EQ(second.json["text"], first.json["text"]);
    // The whole prompt is known by now; its last token is run again for its logits.
    EXPECT_EQ(second.json["cached_tokens"], first.json["prompt_tokens"].get<int>() - 1);
}

TEST_F(ApiTest, StopStringsEndAnAnswerAndAreNotShown) {
    const uint32_t id = session(open(kStoryteller));
    json request = {
        {"session", id}, {"prompt", "Once upon a time"}, {"max_tokens", 30}, {"sampling", {{"temperature", 0}}}};
    const std::string full = call("session.generate", request).json["text"];
    const std::string stop = full.substr(10, 4);
    request["stop"] = {stop};
    const auto stopped = call("session.generate", request);
    EXPECT_EQ(stopped.json["text"], full.substr(0, full.find(stop)));
    EXPECT_EQ(stopped.json["finish_reason"], "stop");
}

TEST_F(ApiTest, AnswersAConversation) {
    const uint32_t id = session(open(kStoryteller));
    const auto answer = call("session.generate", {{"session", id},
                                                  {"messages", {{{"role", "user"}, {"content", "Hello!"}}}},
                                                  {"max_tokens", 20},
                                                  {"sampling", {{"temperature", 0}}}});
    ASSERT_TRUE(answer.ok) << answer.json.dump();
    EXPECT_EQ(answer.json["message"]["role"], "assistant");
    EXPECT_EQ(answer.json["message"]["content"], answer.json["text"]);
    EXPECT_FALSE(answer.json["text"].get<std::string>().empty());
}

TEST_F(ApiTest, AUserCannotEndTheirOwnTurn) {
    const uint32_t id = session(open(kStoryteller));
    const auto tokens_of = [&](const char* content) {
        const auto answer =
            call("session.generate",
                 {{"session", id}, {"messages", {{{"role", "user"}, {"content", content}}}}, {"max_tokens", 1}});
        EXPECT_TRUE(answer.ok) << answer.json.dump();
        return answer.json["prompt_tokens"].get<int>();
    };
    // As the token it would be one more than nothing; as text it is several.
    EXPECT_GT(tokens_of("<turn|>"), tokens_of("a") + 1);
}

TEST_F(ApiTest, CancelledCallsFinishAndLeaveTheSessionUsable) {
    const uint32_t id = session(open(kStoryteller));
    const json request = {{"session", id}, {"prompt", "Once"}, {"max_tokens", 1000}, {"sampling", {{"seed", 1}}}};
    const uint32_t running = start_call("session.generate", request);
    for (int i = 0; i < 40; ++i) host.step(api);
    EXPECT_FALSE(host.finished.contains(running));
    // A second call must not touch the session meanwhile.
    api.call(++last, "session.generate", request.dump(), {});
    EXPECT_EQ(host.finished[last].json["message"], "the session is busy with another call");
    api.cancel(running);
    EXPECT_EQ(host.finished[running].json["code"], "cancelled");
    host.run(api);
    json short_request = request;
    short_request["max_tokens"] = 2;
    EXPECT_TRUE(call("session.generate", short_request).ok);
}

TEST_F(ApiTest, CancellingWhileTheHostReadsDoesNotWaitForIt) {
    host.sources[1] = *testing::read_file(kTiny);
    const uint32_t running = start_call("model.open", {{"sources", {{{"id", 1}, {"size", host.sources[1].size()}}}}});
    api.cancel(running);
    ASSERT_TRUE(host.finished.contains(running));
    EXPECT_EQ(host.finished[running].json["code"], "cancelled");
    host.run(api);  // the host completes the abandoned read into a buffer that must still be there
}

TEST_F(ApiTest, AModelMayBeClosedWhileASessionUsesIt) {
    const uint32_t model = open(kStoryteller);
    const uint32_t id = session(model);
    const json request = {{"session", id}, {"prompt", "Once"}, {"max_tokens", 5}};
    const uint32_t running = start_call("session.generate", request);
    EXPECT_TRUE(call("model.close", {{"model", model}}).ok);
    EXPECT_TRUE(host.finished[running].ok);
    EXPECT_TRUE(call("session.close", {{"session", id}}).ok);
    EXPECT_FALSE(call("session.close", {{"session", id}}).ok);
}

TEST_F(ApiTest, WritesLogitsToASink) {
    const uint32_t id = session(open(kTiny));
    const std::vector<int32_t> tokens = {2, 5, 7};
    const auto done = call("session.logits", {{"session", id}, {"sink", 9}}, to_blob(tokens));
    ASSERT_TRUE(done.ok) << done.json.dump();
    EXPECT_EQ(host.sinks[9].size(), 3 * 512 * sizeof(float));
    EXPECT_FALSE(call("session.logits", {{"session", id}, {"sink", 9}}).ok);
}

TEST_F(ApiTest, MeasuresPerplexity) {
    const uint32_t model = open(kStoryteller);
    const auto ids = call("model.tokenize", {{"model", model}, {"add_bos", false}},
                          bytes_of("Once upon a time, there was a little girl named Lily."));
    const auto result = call("session.perplexity", {{"session", session(model)}, {"window", 8}}, ids.blob);
    ASSERT_TRUE(result.ok) << result.json.dump();
    EXPECT_EQ(result.json["tokens"], ids.blob.size() / 4);
    EXPECT_GT(result.json["perplexity"], 1.0);
    EXPECT_LT(result.json["perplexity"], 100.0);  // a uniform guess would be 8,192
}

TEST_F(ApiTest, RefusesBadRequestsWithTheNameOfTheMember) {
    const uint32_t id = session(open(kTiny));
    const auto message = [&](json request) {
        request["session"] = id;
        if (!request.contains("prompt")) request["prompt"] = "x";
        const auto answer = call("session.generate", request);
        EXPECT_FALSE(answer.ok);
        return answer.json["message"].get<std::string>();
    };
    EXPECT_NE(message({{"max_tokens", -1}}).find("'max_tokens'"), std::string::npos);
    EXPECT_NE(message({{"sampling", {{"temperature", "hot"}}}}).find("'temperature'"), std::string::npos);
    EXPECT_NE(message({{"sampling", {{"top_p", 7}}}}).find("top_p"), std::string::npos);
    EXPECT_NE(message({{"sampling", {{"logit_bias", {{"x", 1}}}}}}).find("'logit_bias'"), std::string::npos);
    EXPECT_NE(message({{"stop", 5}}).find("'stop'"), std::string::npos);
    EXPECT_NE(message({{"prompt", std::string(5000, 'x')}}).find("no room"), std::string::npos);
    EXPECT_NE(message({{"messages", "hi"}}).find("messages"), std::string::npos);
}

}  // namespace
}  // namespace lapidary::api
