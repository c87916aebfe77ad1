#include "chat/message.h"

#include <gtest/gtest.h>

namespace lapidary::chat {
namespace {

std::string error_of(const std::string& messages, const std::string& tools = "null") {
    const auto parsed = parse_conversation(R"({"messages":)" + messages + R"(,"tools":)" + tools + "}");
    return parsed ? "" : parsed.error().message;
}

TEST(Message, ErrorsNameThePlace) {
    struct Case {
        const char* messages;
        const char* expected;
    };
    const Case cases[] = {
        {"5", "messages is a number; a list is expected"},
        {"[]", "messages is empty; one message is the least"},
        {"[true]", "messages[0] is a boolean; an object is expected"},
        {R"([{"content":"x"}])", "messages[0] has no 'role'"},
        {R"([{"role":7}])", "messages[0].role is a number; a string is expected"},
        {R"([{"role":"a<turn|>","content":""}])",
         "messages[0].role 'a<turn|>' may only contain letters, digits, '_' and '-'"},
        {R"([{"role":"","content":""}])", "messages[0].role '' may only contain letters, digits, '_' and '-'"},
        {R"([{"role":"user"}])", "messages[0] has no 'content'"},
        {R"([{"role":"user","content":{}}])",
         "messages[0].content is an object; a string or a list of parts is expected"},
        {R"([{"role":"user","content":[{}]}])", "messages[0].content[0] has no 'type'"},
        {R"([{"role":"user","content":[4]}])",
         "messages[0].content[0] is a number; an object with a 'type' is expected"},
        {R"([{"role":"user","content":[{"type":"text"}]}])", "messages[0].content[0] has no 'text'"},
        {R"([{"role":"user","content":["a",{"type":"smell"}]}])",
         "messages[0].content[1].type 'smell' is not known; text, image_url, input_audio and video are"},
        {R"([{"role":"assistant","reasoning":1}])", "messages[0].reasoning is a number; a string is expected"},
        {R"([{"role":"assistant","tool_calls":{}}])", "messages[0].tool_calls is an object; a list is expected"},
        {R"([{"role":"assistant","tool_calls":[{}]}])", "messages[0].tool_calls[0] has no 'function'"},
        {R"([{"role":"assistant","tool_calls":[{"function":{}}]}])",
         "messages[0].tool_calls[0].function has no 'name'"},
        {R"([{"role":"assistant","tool_calls":[{"function":{"name":"a{"}}]}])",
         "messages[0].tool_calls[0].function.name 'a{' is not usable as the name of a function"},
        {R"([{"role":"assistant","tool_calls":[{"function":{"name":"a","arguments":[]}}]}])",
         "messages[0].tool_calls[0].function.arguments is a list; an object, or a string with one, is expected"},
        {R"([{"role":"user","content":"x"},{"role":"tool","content":"x"}])",
         "messages[1] is the result of a tool, but does not follow an assistant message with tool_calls"},
    };
    for (const Case& c : cases) EXPECT_EQ(error_of(c.messages), c.expected) << c.messages;
}

TEST(Message, ToolErrorsNameThePlace) {
    const std::string user = R"([{"role":"user","content":"x"}])";
    EXPECT_EQ(error_of(user, "{}"), "tools is an object; a list is expected");
    EXPECT_EQ(error_of(user, "[3]"), "tools[0] is a number; an object is expected");
    EXPECT_EQ(error_of(user, R"([{"type":"retrieval"}])"),
              "tools[0].type is not 'function', the only kind of tool there is");
    EXPECT_EQ(error_of(user, R"([{"function":{}}])"), "tools[0].function has no 'name'");
    EXPECT_EQ(error_of(user, R"([{"function":{"name":"f","parameters":[]}}])"),
              "tools[0].function.parameters is a list; an object is expected");
}

TEST(Message, RefusesWhatIsNoRequest) {
    EXPECT_EQ(parse_conversation("{").error().message, "the request is not valid JSON");
    EXPECT_EQ(parse_conversation("\"\xFF\"").error().message, "the request is not valid JSON");
    EXPECT_EQ(parse_conversation("[]").error().message, "the request is a list; an object with 'messages' is expected");
    EXPECT_EQ(parse_conversation("{}").error().message, "the request has no 'messages'");
}

TEST(Message, BoundsDepthAndSize) {
    const std::string deep = std::string(100000, '[') + std::string(100000, ']');
    EXPECT_EQ(parse_conversation(R"({"messages":)" + deep + "}").error().code, Code::limit);

    const std::string call = R"([{"role":"assistant","tool_calls":[{"function":{"name":"f","arguments":)";
    EXPECT_EQ(error_of(call + "\"" + deep + "\"}}]}]"),
              "messages[0].tool_calls[0].function.arguments nests deeper than 64 levels");

    std::string wide = "{\"k\":0";
    for (int i = 0; i < 2000; ++i) wide += format(",\"k{}\":0", i);
    EXPECT_EQ(error_of(call + wide + "}}}]}]"), "the request has an object with more than 1024 members");

    EXPECT_EQ(parse_conversation(std::string(kMaxJsonBytes + 1, ' ')).error().code, Code::limit);

    Json nested = Json::object();
    for (int i = 0; i < 200; ++i) nested = Json::array({nested});
    EXPECT_EQ(conversation_from_json(nested, Json()).error().message, "messages nests deeper than 64 levels");
}

TEST(Message, ReadsWhatClientsSend) {
    const auto parsed = parse_conversation(R"({"model":"x","messages":[
        {"role":"developer","content":"d"},
        {"role":"user","content":["a",{"type":"image_url","image_url":{"url":"data:,"}},
            {"type":"input_image"},{"type":"input_audio"},{"type":"video"}]},
        {"role":"assistant","content":null,"reasoning_content":"why","tool_calls":[
            {"id":"c1","type":"function","function":{"name":"f","arguments":"{\"z\":1,\"a\":2}"}},
            {"id":"c2","type":"function","function":{"name":"g","arguments":" "}}]},
        {"role":"tool","tool_call_id":"c1","content":"r"},
        {"role":"model","content":"m","tool_responses":[{"name":"f","response":{"k":1}},{"response":"s"}]}]})");
    ASSERT_TRUE(parsed) << parsed.error().message;
    const auto& messages = parsed->messages;
    ASSERT_EQ(messages.size(), 5u);
    EXPECT_EQ(messages[0].role, Role::developer);
    ASSERT_EQ(messages[1].parts.size(), 5u);
    EXPECT_EQ(messages[1].parts[0].text, "a");
    EXPECT_EQ(messages[1].parts[1].kind, PartKind::image);
    EXPECT_EQ(messages[1].parts[3].kind, PartKind::audio);
    EXPECT_EQ(messages[1].parts[4].kind, PartKind::video);
    EXPECT_EQ(messages[2].reasoning, "why");
    ASSERT_EQ(messages[2].tool_calls.size(), 2u);
    EXPECT_EQ(json_text(messages[2].tool_calls[0].arguments), R"({"z":1,"a":2})");
    EXPECT_EQ(json_text(messages[2].tool_calls[1].arguments), "{}");
    EXPECT_EQ(messages[3].tool_call_id, "c1");
    EXPECT_EQ(messages[4].role, Role::assistant);
    EXPECT_EQ(role_text(messages[4]), "assistant");
    ASSERT_EQ(messages[4].tool_responses.size(), 2u);
    EXPECT_EQ(messages[4].tool_responses[1].name, "unknown");
}

}  // namespace
}  // namespace lapidary::chat
