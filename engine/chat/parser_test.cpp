#include "chat/parser.h"

#include <gtest/gtest.h>

#include <random>

#include "chat/markers.h"

namespace lapidary::chat {
namespace {

void append(std::string& out, const std::vector<Event>& events, EventKind& last) {
    for (const Event& event : events) {
        if (event.kind == EventKind::arguments) {
            out += event.arguments;
            continue;
        }
        const bool delta = event.kind == EventKind::reasoning || event.kind == EventKind::content;
        if (!delta || event.kind != last || out.empty()) {
            if (!out.empty()) out += " | ";
            constexpr const char* kNames[] = {"R:", "C:", "T:", "", "X:"};
            out += kNames[size_t(event.kind)];
        }
        last = event.kind;
        out += event.text;
        if (event.kind == EventKind::tool_call) out += event.id + " " + event.name + event.arguments;
    }
}

// The events of an output in one line: "R:thought | C:answer | T:call_0 name{…} | X:unreadable".
std::string read(std::string_view output, const ParserOptions& options, size_t chunk = std::string::npos) {
    OutputParser parser(options);
    std::string out;
    EventKind last{};
    for (size_t at = 0; at < output.size(); at += std::min(chunk, output.size() - at)) {
        append(out, parser.feed(output.substr(at, chunk)), last);
    }
    append(out, parser.finish(), last);
    return out;
}

struct Case {
    const char* output;
    const char* expected;
    ParserOptions options = {.start = PromptEnd::answer, .thinking = true, .tools = {}};
};

const std::vector<Case>& cases() {
    static const std::vector<Case> kCases = {
        {"Hello.", "C:Hello."},
        {" Hello \n", "C: Hello \n"},
        {"<|channel>thought\nhm\nwell\n<channel|>Hello", "R:hm\nwell | C:Hello"},
        {"\n<|channel>thought\nhm<channel|>\n\n Hello", "R:hm | C:Hello"},
        {"<|channel>thought\nhm<channel|>Hello",
         "C:Hello",
         {.start = PromptEnd::answer, .thinking = false, .tools = {}}},
        // Repeated empty thoughts, with and without the newline.
        {"<|channel>thought\n<channel|><|channel>thought<channel|>\n<|channel><channel|>Hi", "C:Hi"},
        {"<|channel>thoughts are free<channel|>Hi", "R:thoughts are free | C:Hi"},
        {"Part.\n<|channel>thought\nhm<channel|>More.", "C:Part. | R:hm | C:More."},
        // The prompt has opened the thought; the model may open it again.
        {"thought\nhm<channel|>Hi",
         "R:thought\nhm | C:Hi",
         {.start = PromptEnd::thought, .thinking = true, .tools = {}}},
        {"<|channel>thought\nhm<channel|>Hi",
         "R:hm | C:Hi",
         {.start = PromptEnd::thought, .thinking = true, .tools = {}}},
        {"hm<channel|>Hi", "C:Hi", {.start = PromptEnd::thought, .thinking = false, .tools = {}}},
        // Ends inside a thought.
        {"<|channel>thought\nhm, wait \n", "R:hm, wait"},
        {"<|channel>thou", ""},
        {"<|channel>thought\na < b <|chan", "R:a < b <|chan"},
        // Calls.
        {"Let me see.\n<|tool_call>call:f{a:1}<tool_call|>", "C:Let me see. | T:call_0 f{\"a\":1}"},
        {"<|tool_call>call:f{}<tool_call|><|tool_call>call:g{}<tool_call|><|tool_response>",
         "T:call_0 f{} | T:call_1 g{}"},
        {"<|tool_call>call:f{}<tool_call|><tool_call|> \n<|tool_response> \nDone", "T:call_0 f{} | C:Done"},
        {"<|tool_call>call:f{}<|tool_call>call:g{}<|tool_response>", "T:call_0 f{} | T:call_1 g{}"},
        {"<|tool_call>call:f{a:<|\"|><|tool_call> <turn|><|\"|>}<tool_call|>",
         "T:call_0 f{\"a\":\"<|tool_call> <turn|>\"}"},
        {"<|tool_call>call:f{a:<|\"|>x}<tool_call|>", "T:call_0 f{\"a\":\"x\"}"},
        {"<|channel>thought\nhm<channel|><|tool_call>call:f{}<tool_call|>", "R:hm | T:call_0 f{}"},
        {"<|tool_call>call:f{a:\xFF<|\"|>\xFE<|\"|>}<tool_call|>",
         "T:call_0 f{\"a\": | X:call:f{a:\xFF<|\"|>\xFE<|\"|>}"},
        {"<|tool_call>call:f{a:<|\"|>\xFE<|\"|>}<tool_call|>", "T:call_0 f{\"a\":\"\uFFFD\"}"},
        // Unreadable calls are shown, not lost, and take no index.
        {"<|tool_call>nonsense<tool_call|><|tool_call>call:f{}<tool_call|>", "X:nonsense | T:call_0 f{}"},
        {"<|tool_call> <tool_call|>Hi", "C:Hi"},
        // Cut off.
        {"<|tool_call>call:f{a:1}", "T:call_0 f{\"a\":1}"},
        {"<|tool_call>call:f{a:<|\"|>/home/us", "T:call_0 f{\"a\":\"/home/us"},
        {"<|tool_call>call:f{a:1}<tool_c", "T:call_0 f{\"a\":1}"},
        {"<|tool_call>call:write{path:<|\"|>a<|\"|>,lines:[1,2.50,{b:tru",
         "T:call_0 write{\"path\":\"a\",\"lines\":[1,2.5,{\"b\":"},
        {"<|tool_call>call:wri", "X:call:wri"},
        // What is not written as it should be.
        {"<|tool_call>call:f{ a : [1, 2,] ,\n<|\"|>b c<|\"|>:{},d:None,}<tool_call|>",
         "T:call_0 f{\"a\":[1,2],\"b c\":{},\"d\":null}"},
        {"<|tool_call>call:f{a:1,b:\"x\",c:'y'}<tool_call|>", "T:call_0 f{\"a\":1,\"b\":\"x\",\"c\":\"y\"}"},
        {"<|tool_call>call:f{a:[<|\"|>if (x) { y[1]; }]}<tool_call|>", "T:call_0 f{\"a\":[\"if (x) { y[1]; }\"]}"},
        {"<|tool_call>call:f{a:1,a:2}<tool_call|>", "T:call_0 f{\"a\":1,\"a\":2}"},
        {"<|tool_call>call:f{a:<|\"|>\n\"é\\ 🦊 \x01<|\"|>}<tool_call|>",
         "T:call_0 f{\"a\":\"\\n\\\"é\\\\ 🦊 \\u0001\"}"},
        // Stray markers are not for the reader; what only looks like one is.
        {"A<channel|>B<tool_call|>C<|tool_response>D<turn|>", "C:ABCD"},
        {"a <b> <|c| <|chann <|channel<|", "C:a <b> <|c| <|chann <|channel<|"},
        {"<<|channel>thought\nx<channel|>", "C:< | R:x"},
        {"say <|\"|>hi<|\"|>", "C:say <|\"|>hi<|\"|>"},
        {"", ""},
    };
    return kCases;
}

TEST(OutputParser, ReadsOutputsGoodAndBad) {
    for (const Case& c : cases()) EXPECT_EQ(read(c.output, c.options), c.expected) << c.output;
}

TEST(OutputParser, DoesNotCareWhereTheOutputIsCut) {
    std::mt19937 random(11);
    for (const Case& c : cases()) {
        for (const size_t chunk : {1, 2, 3, 7}) EXPECT_EQ(read(c.output, c.options, chunk), c.expected) << c.output;
        for (int round = 0; round < 50; ++round) {
            OutputParser parser(c.options);
            std::string out;
            EventKind last{};
            std::string_view rest = c.output;
            while (!rest.empty()) {
                const size_t size = std::min<size_t>(rest.size(), random() % 12);
                append(out, parser.feed(rest.substr(0, size)), last);
                rest.remove_prefix(size);
            }
            append(out, parser.finish(), last);
            EXPECT_EQ(out, c.expected) << c.output;
        }
    }
}

TEST(OutputParser, StreamsWithoutWaitingLongerThanItMust) {
    OutputParser parser({.start = PromptEnd::answer, .thinking = true, .tools = {}});
    const auto text = [](const std::vector<Event>& events) { return events.empty() ? "" : events.front().text; };
    EXPECT_EQ(text(parser.feed("Hello wor")), "Hello wor");
    EXPECT_EQ(text(parser.feed("ld <")), "ld");
    EXPECT_EQ(text(parser.feed("3")), " <3");
    EXPECT_EQ(text(parser.feed(" <|chan")), "");
    EXPECT_EQ(text(parser.feed("nel>tho")), "");
    EXPECT_EQ(text(parser.feed("ught\nhm")), "hm");
}

TEST(OutputParser, TakesSpelledMarkersForTextWhenTokensAreKnown) {
    OutputParser parser({.start = PromptEnd::answer, .thinking = true, .tools = {}});
    std::string out;
    EventKind last{};
    append(out, parser.feed_text("A call is <|tool_call>call:f{}<tool_call|>."), last);
    append(out, parser.feed_special(kCallOpen), last);
    append(out, parser.feed_text("call:f{a:"), last);
    append(out, parser.feed_special(kQuote), last);
    append(out, parser.feed_text("<tool_call|> and <|\"|>"), last);
    append(out, parser.feed_special(kQuote), last);
    append(out, parser.feed_text("}"), last);
    append(out, parser.feed_special(kCallClose), last);
    append(out, parser.feed_special(kResponseOpen), last);
    append(out, parser.finish(), last);
    EXPECT_EQ(out, "C:A call is <|tool_call>call:f{}<tool_call|>. | T:call_0 f{\"a\":\"<tool_call|> and <|\\\"|>\"}");
}

TEST(OutputParser, TellsACallWhileItIsWritten) {
    OutputParser parser({});
    const auto told = [&](const std::vector<Event>& events) {
        std::string out;
        for (const Event& event : events) out += event.name + event.arguments;
        return out;
    };
    EXPECT_EQ(told(parser.feed_special(kCallOpen)), "");
    EXPECT_EQ(told(parser.feed_text("call:wri")), "");
    EXPECT_EQ(told(parser.feed_text("te{pa")), "write{");
    EXPECT_EQ(told(parser.feed_text("th:")), "\"path\":");
    EXPECT_EQ(told(parser.feed_special(kQuote)), "\"");
    EXPECT_EQ(told(parser.feed_text("a/b")), "a/b");
    EXPECT_EQ(told(parser.feed_text("\n}")), "");
    EXPECT_EQ(told(parser.feed_text("}c é")), "\\n}}c ");
    EXPECT_EQ(told(parser.feed_special(kQuote)), "é\"");
    EXPECT_EQ(told(parser.feed_text(",n:1")), ",\"n\":");
    EXPECT_EQ(told(parser.feed_text("2}")), "12}");
    EXPECT_EQ(told(parser.feed_special(kCallClose)), "");
    EXPECT_EQ(told(parser.finish()), "");
    EXPECT_FALSE(parser.cut());
}

TEST(OutputParser, WhatItTellsOfACallIsTheBeginningOfAnObjectAndTheWholeUnlessItSaysSo) {
    const std::vector<Tool> tools{
        {.name = "f",
         .description = {},
         .parameters = Json::parse(R"({"properties":{"a":{"type":"string"}}})", nullptr, false),
         .response = {}}};
    constexpr const char* kParts[] = {"{",
                                      "}",
                                      "[",
                                      "]",
                                      ",",
                                      ":",
                                      "a",
                                      "b:",
                                      "a:",
                                      "1",
                                      "-2.50",
                                      "true",
                                      "None",
                                      "\"",
                                      "'",
                                      " ",
                                      "é",
                                      "\\",
                                      "<|\"|>",
                                      "<|\"|>",
                                      "<|\"|>x<|\"|>",
                                      "}<tool_call|>"};
    std::mt19937 random(5);
    size_t whole = 0;
    for (int round = 0; round < 20000; ++round) {
        std::string output = "<|tool_call>call:f{";
        for (size_t i = 0, parts = 1 + random() % 12; i < parts; ++i) output += kParts[random() % std::size(kParts)];
        if (random() % 2 == 0) output += "}<tool_call|>";
        const ParserOptions options{.tools = tools};
        const std::string told = read(output, options);
        ASSERT_EQ(read(output, options, 1), told) << output;
        ASSERT_EQ(read(output, options, 3), told) << output;
        OutputParser parser(options);
        parser.feed(output);
        parser.finish();
        const size_t end = std::min(told.find(" | "), told.size());
        if (!told.starts_with("T:call_0 f") || told.contains(" | X:") || parser.cut()) continue;
        ASSERT_TRUE(Json::parse(told.substr(10, end - 10), nullptr, false).is_object()) << output << " -> " << told;
        ++whole;
    }
    EXPECT_GT(whole, 500u);
}

TEST(OutputParser, MendsARawValueWithTheSchema) {
    const auto request = parse_conversation(R"({"messages":[{"role":"user","content":"u"}],"tools":[{"name":"open",
        "parameters":{"type":"object","properties":{"path":{"type":"string"}}}}]})");
    ASSERT_TRUE(request);
    OutputParser parser({.start = PromptEnd::answer, .thinking = false, .tools = request->tools, .id_prefix = "t7-"});
    const auto events = parser.feed("<|tool_call>call:open{path:/etc/hosts}<tool_call|>");
    ASSERT_EQ(events.size(), 1u);
    EXPECT_EQ(events[0].arguments, R"({"path":"/etc/hosts"})");
    EXPECT_EQ(events[0].id, "t7-0");
}

}  // namespace
}  // namespace lapidary::chat
