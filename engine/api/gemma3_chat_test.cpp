// Conversations with a model of Gemma 3: noise, but its prompts, its calls and what it refuses are what they would be.
#include <gtest/gtest.h>

#include "api/api.h"
#include "testing/fake_host.h"
#include "testing/files.h"

namespace lapidary::api {
namespace {

using nlohmann::json;

class Gemma3ChatTest : public ::testing::Test {
  protected:
    Gemma3ChatTest() {
        host.sources[1] = *testing::read_file("tests/data/fixtures/tiny-gemma3-q4km.gguf");
        model = call("model.open", {{"sources", {{{"id", 1}, {"size", host.sources[1].size()}}}}}).json["model"];
        EXPECT_TRUE(call("model.load", {{"model", model}}).ok);
        session = call("session.create", {{"model", model}, {"context", 1024}}).json["session"];
    }
    testing::FinishedCall call(std::string_view method, const json& args) {
        api.call(++last, method, args.dump(), {});
        host.run(api);
        EXPECT_TRUE(host.finished.contains(last)) << method << " never finished";
        return host.finished[last];
    }
    testing::FinishedCall say(const json& content, json more = json::object()) {
        more["session"] = session;
        more["messages"] = {{{"role", "user"}, {"content", content}}};
        if (!more.contains("max_tokens")) more["max_tokens"] = 8;
        if (!more.contains("sampling")) more["sampling"] = {{"temperature", 0}};
        return call("session.generate", more);
    }

    testing::FakeHost host;
    Api api{host};
    uint32_t last = 0;
    uint32_t model = 0;
    uint32_t session = 0;
};

const json kTools = {{{"type", "function"},
                      {"function",
                       {{"name", "paint"},
                        {"description", "A wall"},
                        {"parameters",
                         {{"type", "object"},
                          {"properties", {{"colour", {{"enum", {"red", "blue"}}}}}},
                          {"required", {"colour"}},
                          {"additionalProperties", false}}}}}}};

TEST_F(Gemma3ChatTest, AnswersInATurnOfItsOwn) {
    const auto reply = say("Hi");
    ASSERT_TRUE(reply.ok) << reply.json.dump();
    // <bos><start_of_turn>user⏎Hi<end_of_turn>⏎<start_of_turn>model⏎: the vocabulary has few merges.
    EXPECT_GE(reply.json["prompt_tokens"].get<int>(), 10);
    EXPECT_LE(reply.json["prompt_tokens"].get<int>(), 24);
}

TEST_F(Gemma3ChatTest, CallsAToolWhenItHasTo) {
    const auto reply = say("Paint it", {{"tools", kTools},
                                        {"tool_choice", "required"},
                                        {"max_tokens", 200},
                                        {"sampling", {{"temperature", 1}, {"seed", 3}}}});
    ASSERT_TRUE(reply.ok) << reply.json.dump();
    if (reply.json["finish_reason"] == "length") GTEST_SKIP() << "noise has written blanks until there was no room";
    EXPECT_EQ(reply.json["finish_reason"], "tool_calls");
    const json& made = reply.json["message"]["tool_calls"][0]["function"];
    EXPECT_EQ(made["name"], "paint");
    const json arguments = json::parse(made["arguments"].get<std::string>(), nullptr, false);
    EXPECT_TRUE(arguments["colour"] == "red" || arguments["colour"] == "blue") << reply.json.dump();
}

TEST_F(Gemma3ChatTest, IsNotToldOfToolsItMustNotCall) {
    const auto with = say("Hi", {{"tools", kTools}});
    const auto without = say("Hi", {{"tools", kTools}, {"tool_choice", "none"}});
    ASSERT_TRUE(with.ok && without.ok);
    EXPECT_GT(with.json["prompt_tokens"].get<int>(), without.json["prompt_tokens"].get<int>() + 50);
}

TEST_F(Gemma3ChatTest, WritesJsonWithItsVocabulary) {
    const auto reply = say(
        "Hi", {{"response_format", {{"type", "json_schema"}, {"json_schema", {{"schema", {{"enum", {"yes", "no"}}}}}}}},
               {"max_tokens", 100}});
    ASSERT_TRUE(reply.ok) << reply.json.dump();
    const json written = json::parse(reply.json["text"].get<std::string>(), nullptr, false);
    EXPECT_TRUE(written == "yes" || written == "no") << reply.json.dump();
}

TEST_F(Gemma3ChatTest, SaysThatItCannotSee) {
    const auto reply = say({{{"type", "image"}}, {{"type", "text"}, {"text", "What is this?"}}});
    ASSERT_FALSE(reply.ok);
    EXPECT_EQ(reply.json["message"], "This engine reads text with Gemma 3; its image tower is not supported.");
}

TEST_F(Gemma3ChatTest, IsDescribedAsWhatItIs) {
    const auto reply = call("model.describe", {{"model", model}});
    ASSERT_TRUE(reply.ok) << reply.json.dump();
    EXPECT_EQ(reply.json["architecture"], "gemma3");
    EXPECT_EQ(reply.json["dialect"], "llama.cpp");
    EXPECT_EQ(reply.json["capabilities"], json({"completion"}));
}

}  // namespace
}  // namespace lapidary::api
