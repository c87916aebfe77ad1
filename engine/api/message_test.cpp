#include "api/message.h"

#include <gtest/gtest.h>

namespace lapidary::api {

struct TestItem {
    Id id = 0;
    int64_t size = 7;
};
ARGUMENTS(TestItem, MEMBER(id, ""), MEMBER(size, "").between(0, 9));

struct TestArgs {
    Id model = 0;
    std::string text;
    std::string word = "usual";
    int64_t count = 5;
    std::optional<int64_t> maybe;
    double share = 0.5;
    std::optional<double> factor;
    bool flag = true;
    std::vector<std::string> names;
    std::vector<int64_t> layers;
    TestItem item;
    std::vector<TestItem> items;
    Json other;
};
ARGUMENTS(TestArgs, MEMBER(model, ""), MEMBER(text, ""), MEMBER(word, "").maybe(), MEMBER(count, "").between(1, 10),
          MEMBER(maybe, "").between(0, 3), MEMBER(share, ""), MEMBER(factor, ""), MEMBER(flag, ""),
          MEMBER(names, "").at_most(2), MEMBER(layers, ""), MEMBER(item, ""), MEMBER(items, "").at_most(2),
          MEMBER(other, ""));

struct TestPart {
    double number = 0;
    std::optional<std::string> text;
};
MESSAGE(TestPart, MEMBER(number, ""), MEMBER(text, ""));

struct TestResult {
    Id id = 0;
    int64_t bytes = 0;
    bool ok = false;
    std::optional<bool> sure;
    std::optional<int64_t> count;
    std::optional<double> share;
    std::string text;
    std::vector<std::string> names;
    std::vector<int64_t> ids;
    std::vector<double> numbers;
    TestPart part;
    std::optional<TestPart> maybe;
    std::vector<TestPart> parts;
    Json other;
};
MESSAGE(TestResult, MEMBER(id, ""), MEMBER(bytes, ""), MEMBER(ok, ""), MEMBER(sure, ""), MEMBER(count, ""),
        MEMBER(share, ""), MEMBER(text, ""), MEMBER(names, ""), MEMBER(ids, ""), MEMBER(numbers, ""), MEMBER(part, ""),
        MEMBER(maybe, ""), MEMBER(parts, ""), MEMBER(other, ""));

namespace {

Json parsed(const char* text) {
    return Json::parse(text, nullptr, false);
}

TEST(Message, ReadsWhatIsThereAndLeavesTheRestAsItIs) {
    TestArgs args;
    ASSERT_TRUE(read_message(parsed(R"({"model": 3, "text": "a", "maybe": 2, "share": 1, "names": "one", "word": null,
        "layers": [1, -2], "item": {"id": 4}, "items": [{"id": 1, "size": 0}, {"id": 2}], "other": {"x": []}, "unknown": 1})"),
                             args));
    EXPECT_EQ(args.model, 3u);
    EXPECT_EQ(args.text, "a");
    EXPECT_EQ(args.word, "usual");
    EXPECT_EQ(args.count, 5);
    EXPECT_EQ(args.maybe, 2);
    EXPECT_EQ(args.share, 1.0);
    EXPECT_FALSE(args.factor);
    EXPECT_TRUE(args.flag);
    EXPECT_EQ(args.names, std::vector<std::string>{"one"});
    EXPECT_EQ(args.layers, (std::vector<int64_t>{1, -2}));
    EXPECT_EQ(args.item.id, 4u);
    EXPECT_EQ(args.item.size, 7);
    ASSERT_EQ(args.items.size(), 2u);
    EXPECT_EQ(args.items[0].size, 0);
    EXPECT_EQ(args.items[1].id, 2u);
    EXPECT_EQ(args.items[1].size, 7);
    EXPECT_EQ(args.other.dump(), R"({"x":[]})");
}

TEST(Message, RefusesWithASentenceThatNamesTheMember) {
    const auto refusal = [](const std::string& member) {
        TestArgs args;
        const std::string text = R"({"model": 1, "text": "a", )" + member + "}";
        const Status status = read_message(parsed(text.c_str()), args);
        EXPECT_FALSE(status) << member;
        EXPECT_EQ(status ? Code::internal : status.error().code, Code::invalid_argument);
        return status ? "" : status.error().message;
    };
    EXPECT_EQ(refusal(R"("model": null)"), "'model' must be a number that names one");
    EXPECT_EQ(refusal(R"("model": -1)"), "'model' must be a number that names one");
    EXPECT_EQ(refusal(R"("model": 4294967296)"), "'model' must be a number that names one");
    EXPECT_EQ(refusal(R"("text": 1)"), "'text' must be a text");
    EXPECT_EQ(refusal(R"("text": null)"), "'text' must be a text");
    EXPECT_EQ(refusal(R"("word": 1)"), "'word' must be a text");
    for (const char* wrong : {"0", "11", "1.5", "\"1\"", "18446744073709551615", "-9223372036854775808"}) {
        EXPECT_EQ(refusal(std::string(R"("count": )") + wrong), "'count' must be a whole number between 1 and 10");
    }
    EXPECT_EQ(refusal(R"("maybe": 4)"), "'maybe' must be a whole number between 0 and 3");
    EXPECT_EQ(refusal(R"("share": "1")"), "'share' must be a number");
    EXPECT_EQ(refusal(R"("factor": [])"), "'factor' must be a number");
    EXPECT_EQ(refusal(R"("flag": 1)"), "'flag' must be true or false");
    EXPECT_EQ(refusal(R"("names": ["a", "b", "c"])"), "'names' must be a list of at most 2 texts");
    EXPECT_EQ(refusal(R"("names": [1])"), "'names' must be a list of texts");
    EXPECT_EQ(refusal(R"("layers": [0.5])"), "'layers' must be a list of whole numbers");
    EXPECT_EQ(refusal(R"("layers": {})"), "'layers' must be a list of whole numbers");
    EXPECT_EQ(refusal(R"("item": 5)"), "'item' must be an object");
    EXPECT_EQ(refusal(R"("item": {})"), "'id' must be a number that names one");
    EXPECT_EQ(refusal(R"("items": [{"id": 1}, {"id": 1}, {"id": 1}])"), "'items' must be a list of at most 2 objects");
    EXPECT_EQ(refusal(R"("items": [{"id": 1, "size": 10}])"), "'size' must be a whole number between 0 and 9");
    EXPECT_EQ(refusal(R"("items": [7])"), "'id' must be a number that names one");
}

TEST(Message, WritesInTheOrderOfTheTableWithoutWhatIsNotThere) {
    EXPECT_EQ(written(TestResult{}).dump(),
              R"({"id":0,"bytes":0,"ok":false,"text":"","names":[],"ids":[],"numbers":[],)"
              R"("part":{"number":0.0},"parts":[]})");
    const TestResult full{.id = 1,
                          .bytes = int64_t{1} << 40,
                          .ok = true,
                          .sure = false,
                          .count = 0,
                          .share = 0.25,
                          .text = "t",
                          .names = {"a", "b"},
                          .ids = {-1, 2},
                          .numbers = {0.5},
                          .part = {.number = 1.5, .text = ""},
                          .maybe = TestPart{.number = 2.5},
                          .parts = {{.number = 3.5, .text = "x"}, {.number = 4.5}},
                          .other = Json::array({1, "z"})};
    EXPECT_EQ(
        written(full).dump(),
        R"({"id":1,"bytes":1099511627776,"ok":true,"sure":false,"count":0,"share":0.25,"text":"t","names":["a","b"],)"
        R"("ids":[-1,2],"numbers":[0.5],"part":{"number":1.5,"text":""},"maybe":{"number":2.5},)"
        R"("parts":[{"number":3.5,"text":"x"},{"number":4.5}],"other":[1,"z"]})");
}

}  // namespace
}  // namespace lapidary::api
