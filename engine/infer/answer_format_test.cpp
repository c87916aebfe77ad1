#include "infer/answer_format.h"

#include <gtest/gtest.h>

#include "grammar/schema.h"
#include "tokenizer/test_vocabulary.h"

namespace lapidary::infer {
namespace {

using Calls = AnswerFormatOptions::Calls;

class AnswerFormatTest : public ::testing::Test {
  protected:
    AnswerFormatTest() {
        for (const char* marker : {"<|channel>", "<channel|>", "<|tool_call>", "<tool_call|>", "<|\"|>"}) {
            vocabulary_.add(marker, 4);
        }
        tokenizer_ = *vocabulary_.create();
        texts_ = std::make_shared<const grammar::TokenTexts>(tokenizer_);
    }

    AnswerFormat make(AnswerFormatOptions options) {
        if (options.content == nullptr && options.calls != Calls::required) {
            options.content = *grammar::compile_schema(grammar::Json::parse(R"({"enum":["a"]})"));
        }
        return {*tokenizer_, texts_, std::move(options)};
    }
    int32_t id(std::string_view text) const { return tokenizer_->find(text).value_or(-1); }
    bool may(AnswerFormat& format, std::string_view text) const {
        const auto allowed = format.allowed();
        const int32_t token = id(text);
        return allowed.empty() || (allowed[size_t(token) / 32] >> (uint32_t(token) % 32) & 1) != 0;
    }
    void feed(AnswerFormat& format, std::initializer_list<std::string_view> tokens) const {
        for (const std::string_view token : tokens) {
            EXPECT_TRUE(may(format, token)) << token;
            EXPECT_TRUE(format.accept(id(token))) << token;
        }
    }

    tokenizer::TestVocabulary vocabulary_;
    std::shared_ptr<const tokenizer::Tokenizer> tokenizer_;
    std::shared_ptr<const grammar::TokenTexts> texts_;
};

TEST_F(AnswerFormatTest, ContentFollowsTheGrammarFromItsFirstByteToTheEndOfTheTurn) {
    AnswerFormat format = make({});
    for (const char* token : {"a", "<turn|>", "<|channel>", "<|tool_call>", "▁"}) EXPECT_FALSE(may(format, token));
    feed(format, {"<0x22>", "a"});
    EXPECT_FALSE(may(format, "<turn|>"));
    feed(format, {"<0x22>"});
    EXPECT_TRUE(may(format, "<turn|>"));
    EXPECT_FALSE(may(format, "<|tool_response>"));
    EXPECT_FALSE(may(format, "<|tool_call>"));
    EXPECT_FALSE(format.accept(id("a")));
}

TEST_F(AnswerFormatTest, AThoughtMayComeFirstOnceAndMustBeClosed) {
    AnswerFormat format = make({.thoughts = true});
    feed(format, {"<|channel>", "a", "b", "<0x22>", "▁"});
    EXPECT_FALSE(may(format, "<turn|>"));
    EXPECT_FALSE(may(format, "<eos>"));
    feed(format, {"<channel|>"});
    EXPECT_FALSE(may(format, "<|channel>"));
    EXPECT_FALSE(may(format, "a"));
    feed(format, {"<0x22>", "a", "<0x22>"});
}

TEST_F(AnswerFormatTest, AThoughtThePromptHasOpenedIsOneToo) {
    AnswerFormat format = make({.thoughts = true, .start = chat::PromptEnd::thought});
    feed(format, {"z", "<channel|>", "<0x22>"});
}

TEST_F(AnswerFormatTest, ACallTakesThePlaceOfContent) {
    AnswerFormat format = make({.calls = Calls::possible});
    EXPECT_TRUE(may(format, "<0x22>"));
    feed(format, {"<|tool_call>", "c", "a", "l", "l", "<|\"|>", "<tool_call|>"});
    EXPECT_FALSE(may(format, "<0x22>"));
    EXPECT_FALSE(may(format, "a"));
    feed(format, {"<|tool_call>", "x", "<tool_call|>"});
    EXPECT_TRUE(may(format, "<|tool_response>"));
    EXPECT_TRUE(may(format, "<turn|>"));
}

}  // namespace
}  // namespace lapidary::infer
