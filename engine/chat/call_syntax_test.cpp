#include "chat/call_syntax.h"

#include <gtest/gtest.h>

#include <random>

#include "chat/markers.h"
#include "chat/value_syntax.h"
#include "testing/files.h"

namespace lapidary::chat {
namespace {

// Writes Q for <|"|> in expectations, as in "{a:QxQ}".
std::string spelled(std::string_view text) {
    std::string out;
    for (const char c : text) out += c == 'Q' ? std::string(kQuote) : std::string(1, c);
    return out;
}

std::vector<Tool> tools() {
    Tool tool{.name = "f", .description = {}, .parameters = {}, .response = {}};
    tool.parameters = *parse_json(R"({"type":"object","properties":{"path":{"type":"string"},
        "mode":{"type":"integer"},"note":{"type":"STRING"}}})",
                                  "the schema");
    return {tool};
}

std::string read(std::string_view text, bool finished = true) {
    const auto list = tools();
    const auto call = parse_call(spelled(text), {.finished = finished, .tools = list});
    return call ? call->name + " " + json_text(call->arguments) + (call->repaired ? " repaired" : "") : "invalid";
}

TEST(CallSyntax, ReadsTheGrammar) {
    EXPECT_EQ(read("call:f{}"), "f {}");
    EXPECT_EQ(read(" call:f{ } \n"), "f {}");
    EXPECT_EQ(read("call:f{b:QxQ,a:1}"), R"(f {"b":"x","a":1})");
    EXPECT_EQ(read("call:f{ b : QxQ , a : [ 1 , QyQ ] }"), R"(f {"b":"x","a":[1,"y"]})");
    EXPECT_EQ(read("call:a.b-c{x-y z:{k:[true,false,null]},n:-1.5e3}"),
              R"(a.b-c {"x-y z":{"k":[true,false,null]},"n":-1500.0})");
    EXPECT_EQ(read("call:f{a:Q}{][,:\"'\\n\nQ,b:QQ}"), R"(f {"a":"}{][,:\"'\\n\n","b":""})");
    EXPECT_EQ(read("call:f{a:1,a:2}"), R"(f {"a":2})");
}

TEST(CallSyntax, IsLenientWhereTheMeaningIsPlain) {
    EXPECT_EQ(read(R"(call:f{a:"x \"y\" \u00e9"})"), R"(f {"a":"x \"y\" é"})");
    EXPECT_EQ(read(R"(call:f{"a":1,QbQ:2,'c':3})"), R"(f {"a":1,"b":2,"c":3})");
    EXPECT_EQ(read("call:f{a:'it's','b':'y'}"), R"(f {"a":"it's","b":"y"})");
    EXPECT_EQ(read("call:f{a:None,b:True,c:False,}"), R"(f {"a":null,"b":true,"c":false})");
}

TEST(CallSyntax, RepairsAFinishedCall) {
    EXPECT_EQ(read("call:f{a:1"), R"(f {"a":1} repaired)");
    EXPECT_EQ(read("call:f{a:{b:[1,2"), R"(f {"a":{"b":[1,2]}} repaired)");
    EXPECT_EQ(read("call:f{a:Qx}"), R"(f {"a":"x"} repaired)");
    EXPECT_EQ(read("call:f{o:{a:Qx }} "), R"(f {"o":{"a":"x"}} repaired)");
    EXPECT_EQ(read("call:f{o:[Qx{y}]}"), R"(f {"o":["x{y}"]} repaired)");
    EXPECT_EQ(read("call:f{a:Qx"), R"(f {"a":"x"} repaired)");
    EXPECT_EQ(read("call:f{mode:3,path:/tmp/a b, c}"), R"(f {"mode":3,"path":"/tmp/a b, c"} repaired)");
    EXPECT_EQ(read("call:f{note:12 o'clock}"), R"(f {"note":"12 o'clock"} repaired)");
    EXPECT_EQ(read("call:f{path:{x}"), R"(f {"path":"{x"} repaired)");
}

TEST(CallSyntax, NeverGuessesTheEndOfACallThatWasCutOff) {
    for (const char* text : {"call:f{path:Q/home/us", "call:f{path:Q/home}", "call:f{mode:1", "call:f{path:/home}"}) {
        EXPECT_EQ(read(text, false), "invalid") << text;
    }
    EXPECT_EQ(read("call:f{mode:1}", false), R"(f {"mode":1})");
}

TEST(CallSyntax, RefusesWhatItCannotRead) {
    for (const char* text :
         {"", "f{}", "call:", "call:f", "call:{}", "call:a b{}", "call:f{a}", "call:f{:1}", "call:f{a:}", "call:f{a:x}",
          "call:f{a:1 2}", "call:f{a:01}", "call:f{a:1}}", "call:f{a:[1}]", "call:f{a:\"\\x\"}", "call:f{a:1e999}",
          "call:f{path:x,mode:3}", "call:f{path:x,b:QyQ}"}) {
        EXPECT_EQ(read(text), "invalid") << text;
    }
}

TEST(CallSyntax, BoundsDepthAndSize) {
    const std::string deep = "call:f{a:" + std::string(100000, '[');
    EXPECT_EQ(parse_call(deep, {}).error().code, Code::limit);
    const std::string big = "call:f{a:1}" + std::string(kMaxCallBytes, ' ');
    EXPECT_EQ(parse_call(big, {}).error().code, Code::limit);
    std::string wide = "call:f{";
    for (int i = 0; i < 2000; ++i) wide += format("k{}:0,", i);
    EXPECT_EQ(parse_call(wide + "}", {}).error().code, Code::limit);
}

TEST(CallSyntax, TakesOnlyTheGivenQuotesForTokens) {
    const std::string text = spelled("call:f{a:QsaysQhiQ}");  // the second Q was written out letter by letter
    const size_t first = text.find(kQuote);
    const size_t last = text.rfind(kQuote);
    const std::vector<size_t> quotes = {first, last};
    const auto call = parse_call(text, quotes, {});
    ASSERT_TRUE(call) << call.error().message;
    EXPECT_EQ(string_of(member(call->arguments, "a")), spelled("saysQhi"));
}

// Order of members does not matter to JSON, but the renderer sorts.
nlohmann::json unordered(const Json& value) {
    return nlohmann::json::parse(json_text(value), nullptr, false);
}

TEST(CallSyntax, ReadsBackEveryCallOfTheVectors) {
    const auto text = testing::read_text("tests/data/vocab/gemma4-chat-vectors.json");
    ASSERT_TRUE(text);
    const auto vectors = parse_json(*text, "the vectors");
    ASSERT_TRUE(vectors);
    size_t calls = 0;
    for (const Json& vector : *vectors) {
        std::string_view prompt = string_of(member(vector, "prompt"));
        for (const Json& message : member(vector, "messages")) {
            for (const Json& expected : member(message, "tool_calls")) {
                const size_t start = prompt.find(kCallOpen) + kCallOpen.size();
                const size_t end = prompt.find(kCallClose, start);
                ASSERT_NE(end, std::string_view::npos);
                const auto call = parse_call(prompt.substr(start, end - start), {});
                ASSERT_TRUE(call) << call.error().message;
                EXPECT_FALSE(call->repaired);
                const Json& function = member(expected, "function");
                EXPECT_EQ(call->name, string_of(member(function, "name")));
                EXPECT_EQ(unordered(call->arguments), unordered(member(function, "arguments")));
                prompt.remove_prefix(end);
                ++calls;
            }
        }
    }
    EXPECT_GE(calls, 20u);
}

Json random_value(std::mt19937& random, int depth) {
    switch (random() % (depth > 4 ? 5 : 7)) {
        case 0: return Json();
        case 1: return Json(random() % 2 == 0);
        case 2: return Json(int64_t(random()) - (int64_t{1} << 31));
        case 3: return Json(double(int64_t(random())) / 977.0);
        case 4: {
            static constexpr std::string_view kBits[] = {"a", "<|\"|>", "}", "{",  "]",  ",",
                                                         ":", "\"",     "'", "\\", "\n", "é"};
            std::string text;
            for (size_t i = random() % 6; i > 0; --i) text += kBits[random() % std::size(kBits)];
            return Json(text);
        }
        case 5: {
            Json list = Json::array();
            for (size_t i = random() % 4; i > 0; --i) list.push_back(random_value(random, depth + 1));
            return list;
        }
        default: {
            Json object = Json::object();
            for (size_t i = random() % 4; i > 0; --i) {
                object[format("k{}", random() % 100)] = random_value(random, depth + 1);
            }
            return object;
        }
    }
}

TEST(CallSyntax, ReadsBackAnyArgumentsWhenTheTokensAreKnown) {
    std::mt19937 random(7);
    for (int round = 0; round < 2000; ++round) {
        Json arguments = Json::object();
        for (size_t i = random() % 5; i > 0; --i) arguments[format("a{}", i)] = random_value(random, 0);
        PieceWriter out;
        write_value(out, arguments, round % 2 == 0 ? KeyStyle::bare : KeyStyle::quoted);
        std::string text = "call:f";
        std::vector<size_t> quotes;
        for (const Piece& piece : out.pieces()) {
            if (piece.trusted) {
                for (size_t at = piece.text.find(kQuote); at != std::string::npos;
                     at = piece.text.find(kQuote, at + 1)) {
                    quotes.push_back(text.size() + at);
                }
            }
            text += piece.text;
        }
        const auto call = parse_call(text, quotes, {.finished = false, .tools = {}});
        ASSERT_TRUE(call) << text << ": " << call.error().message;
        EXPECT_EQ(unordered(call->arguments), unordered(arguments)) << text;
    }
}

}  // namespace
}  // namespace lapidary::chat
