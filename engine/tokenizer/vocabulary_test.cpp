// Files whose vocabulary cannot be used are refused with a sentence that says why.
#include "tokenizer/vocabulary.h"

#include <gtest/gtest.h>

#include "tokenizer/test_vocabulary.h"

namespace lapidary::tokenizer {
namespace {

void expect_refusal(const TestVocabulary& vocabulary, Code code, std::string_view words) {
    const auto tokenizer = vocabulary.create();
    ASSERT_FALSE(tokenizer) << "should have been refused: " << words;
    EXPECT_EQ(code_name(tokenizer.error().code), code_name(code)) << tokenizer.error().message;
    EXPECT_TRUE(tokenizer.error().message.contains(words)) << tokenizer.error().message;
}

TEST(Vocabulary, AcceptsBothDialects) {
    TestVocabulary vocabulary;
    EXPECT_TRUE(vocabulary.create());
    vocabulary.set("tokenizer.ggml.model", TestVocabulary::text("llama"));
    vocabulary.set("tokenizer.ggml.pre", TestVocabulary::text("gemma4"));
    EXPECT_TRUE(vocabulary.create());
}

TEST(Vocabulary, RefusesAFileWithoutOne) {
    TestVocabulary vocabulary;
    vocabulary.leave_out("tokenizer.ggml.model");
    expect_refusal(vocabulary, Code::not_found, "this file has no vocabulary");
}

TEST(Vocabulary, RefusesOtherKindsAndNamesThem) {
    TestVocabulary vocabulary;
    vocabulary.set("tokenizer.ggml.model", TestVocabulary::text("gpt2"));
    vocabulary.set("tokenizer.ggml.pre", TestVocabulary::text("qwen2"));
    expect_refusal(vocabulary, Code::unsupported, "'gpt2' (pre-tokenizer 'qwen2')");
    vocabulary.set("tokenizer.ggml.model", TestVocabulary::text("bert"));
    expect_refusal(vocabulary, Code::unsupported, "'bert'");
    vocabulary.set("tokenizer.ggml.model", TestVocabulary::number(7));
    expect_refusal(vocabulary, Code::bad_file, "tokenizer.ggml.model");
}

TEST(Vocabulary, RefusesMissingOrEmptyListsAndThoseOfOtherTypes) {
    for (const std::string key : {"tokenizer.ggml.tokens", "tokenizer.ggml.merges"}) {
        TestVocabulary vocabulary;
        vocabulary.leave_out(key);
        expect_refusal(vocabulary, Code::not_found, key);
        vocabulary.set(key, TestVocabulary::number(1));
        expect_refusal(vocabulary, Code::bad_file, "is a uint32");
        vocabulary.set(key, TestVocabulary::numbers({1, 2}));
        expect_refusal(vocabulary, Code::bad_file, "is one of int32");
        vocabulary.set(key, TestVocabulary::texts({}));
        expect_refusal(vocabulary, Code::bad_file, "is empty");
    }
}

TEST(Vocabulary, RefusesAbsurdlyManyTokens) {
    TestVocabulary vocabulary;
    vocabulary.set("tokenizer.ggml.tokens", TestVocabulary::texts(std::vector<std::string>(kMaxTokens + 1, "x")));
    expect_refusal(vocabulary, Code::limit, "1048577 elements");
}

TEST(Vocabulary, RefusesTypesThatDoNotFitTheTokens) {
    TestVocabulary vocabulary;
    vocabulary.types.pop_back();
    expect_refusal(vocabulary, Code::bad_file, "tokenizer.ggml.token_type has");
    vocabulary.types.push_back(7);
    expect_refusal(vocabulary, Code::bad_file, "integers from 0 to 6");
    vocabulary.set("tokenizer.ggml.token_type", TestVocabulary::texts({"1"}));
    expect_refusal(vocabulary, Code::bad_file, "should be an array of integers");
}

TEST(Vocabulary, RefusesMergesThatAreNotTwoParts) {
    for (const std::string line : {"ab", "", " ", " b", "a "}) {
        TestVocabulary vocabulary;
        vocabulary.merges = {"a b", line};
        expect_refusal(vocabulary, Code::bad_file, "merge 1 of the vocabulary, '" + line + "'");
    }
}

TEST(Vocabulary, RefusesBeginningsAndEndsThatAreNotTokens) {
    TestVocabulary vocabulary;
    const auto size = uint32_t(vocabulary.tokens.size());
    vocabulary.set("tokenizer.ggml.bos_token_id", TestVocabulary::number(size));
    expect_refusal(vocabulary, Code::bad_file, "tokenizer.ggml.bos_token_id");
    vocabulary.set("tokenizer.ggml.bos_token_id", TestVocabulary::text("<bos>"));
    expect_refusal(vocabulary, Code::bad_file, "tokenizer.ggml.bos_token_id");
    vocabulary.set("tokenizer.ggml.bos_token_id", TestVocabulary::number(2));
    vocabulary.set("tokenizer.ggml.eos_token_id", TestVocabulary::number(size));
    expect_refusal(vocabulary, Code::bad_file, "tokenizer.ggml.eos_token_id ");
    vocabulary.leave_out("tokenizer.ggml.eos_token_id");
    vocabulary.set("tokenizer.ggml.eos_token_ids", TestVocabulary::numbers({1, -1}));
    expect_refusal(vocabulary, Code::bad_file, "tokenizer.ggml.eos_token_ids");
    vocabulary.set("tokenizer.ggml.eos_token_ids", TestVocabulary::number(1));
    expect_refusal(vocabulary, Code::bad_file, "tokenizer.ggml.eos_token_ids");
    vocabulary.leave_out("tokenizer.ggml.eos_token_ids");
    EXPECT_TRUE(vocabulary.create());
    vocabulary.leave_out("tokenizer.ggml.bos_token_id");
    vocabulary.tokens[2] = "<begin>";
    expect_refusal(vocabulary, Code::bad_file, "no <bos>");
}

TEST(Vocabulary, RefusesOneThatCannotWriteEveryByte) {
    TestVocabulary vocabulary;
    vocabulary.tokens[8 + 0x41] = "<0x4g>";
    expect_refusal(vocabulary, Code::bad_file, "the byte 65");
}

TEST(Vocabulary, RefusesASpecialTokenOfAbsurdLength) {
    TestVocabulary vocabulary;
    vocabulary.add(std::string(257, 'x'), 4);
    expect_refusal(vocabulary, Code::limit, "257 bytes");
}

TEST(Vocabulary, RefusesManyMergesOfTextsThatAreNotTokens) {
    TestVocabulary vocabulary;
    for (int i = 0; i < 70000; ++i) vocabulary.merges.push_back("a " + std::to_string(i + 1000));
    expect_refusal(vocabulary, Code::limit, "not among its tokens");
}

TEST(HashIndex, RefusesToBecomeSlow) {
    HashIndex index(4096);
    uint32_t number = 0;
    const auto never = [](uint32_t) { return false; };
    while (number < 4096 && index.find_or_add(0, number, never) == number) ++number;
    EXPECT_EQ(number, 1024u);
    EXPECT_EQ(index.find(0, [](uint32_t n) { return n == 1023; }), 1023u);
    EXPECT_EQ(index.find(0, never), HashIndex::kNone);
}

}  // namespace
}  // namespace lapidary::tokenizer
