// The fast tokenizer against the slow one, on texts and vocabularies drawn at random.
#include "tokenizer/bpe.h"

#include <gtest/gtest.h>

#include "tokenizer/random_texts.h"

namespace lapidary::tokenizer {
namespace {

TEST(Bpe, EqualsTheSlowOneForTheStorytellersVocabulary) {
    ASSERT_NE(storyteller(), nullptr);
    expect_equals_the_slow_one(*storyteller(), 1, 300);
}

TEST(Bpe, EqualsTheSlowOneForGemmasVocabulary) {
    LAPIDARY_NEEDS_GEMMA();
    expect_equals_the_slow_one(*gemma(), 2, 300);
}

// Merges of which nothing is certain: parts and results that are not tokens, pairs listed twice, tokens with the
// same text, characters that share a class, merges that join words across a space.
TEST(Bpe, EqualsTheSlowOneForVocabulariesOfAnyKind) {
    Random random(3);
    for (int round = 0; round < 60; ++round) {
        TestVocabulary vocabulary;
        vocabulary.merges.clear();
        std::vector<std::string> texts = {"a", "b", "▁", "é", "水", "𝄞", "\xE2", "\x96", "\n"};
        const uint32_t count = 1 + random.below(40);
        for (uint32_t i = 0; i < count; ++i) {
            const std::string left = texts[random.below(uint32_t(texts.size()))];
            const std::string right = texts[random.below(uint32_t(texts.size()))];
            vocabulary.merges.push_back(left);
            vocabulary.merges.back().append(" ").append(right);
            if (left.size() + right.size() < 30) texts.push_back(left + right);
            if (random.below(3) > 0) vocabulary.add(left + right);
        }
        std::ranges::shuffle(vocabulary.merges, std::mt19937(uint32_t(round)));
        const LoadedVocabulary loaded{vocabulary.header(), *vocabulary.create()};
        const SlowTokenizer slow(loaded.header);
        for (int i = 0; i < 30; ++i) {
            std::string text;
            for (uint32_t n = random.below(40); n > 0; --n) {
                text += random.below(4) == 0 ? " " : texts[random.below(uint32_t(texts.size()))];
            }
            ASSERT_EQ(loaded.tokenizer->encode(text, {.add_bos = false}), slow.encode(text, true))
                << "vocabulary " << round << ", text " << text;
        }
    }
}

TEST(Bpe, GivesBackEveryTextItWasGiven) {
    ASSERT_NE(storyteller(), nullptr);
    expect_round_trips(*storyteller()->tokenizer, 4, 2000);
    LAPIDARY_NEEDS_GEMMA();
    expect_round_trips(*gemma()->tokenizer, 5, 2000);
}

// A method that takes time squared would not end within hours.
TEST(Bpe, EncodesALongTextWithoutAnyPlaceToCutIt) {
    ASSERT_NE(storyteller(), nullptr);
    for (const char c : {'a', ' ', '\n', '\xE2', '\xFF'}) {
        const std::string text(kLongText, c);
        for (const LoadedVocabulary* vocabulary : {storyteller(), gemma()}) {
            if (vocabulary == nullptr) continue;
            const auto ids = vocabulary->tokenizer->encode(text);
            EXPECT_EQ(vocabulary->tokenizer->decode(ids, false), text) << int(c);
        }
    }
}

TEST(Bpe, TakesTheFirstPlaceOfAMergeThatIsListedTwice) {
    TestVocabulary vocabulary;
    const int32_t ab = vocabulary.add("ab");
    const int32_t bc = vocabulary.add("bc");
    vocabulary.merges = {"a b", "b c", "a b"};
    const auto tokenizer = vocabulary.create();
    ASSERT_TRUE(tokenizer) << tokenizer.error().message;
    const int32_t c = *(*tokenizer)->find("c");
    EXPECT_EQ((*tokenizer)->encode("abc", {.add_bos = false}), (std::vector<int32_t>{ab, c}));
    EXPECT_EQ((*tokenizer)->encode("bc", {.add_bos = false}), (std::vector<int32_t>{bc}));
}

// The first merge gives a text that is no token, but the second needs it.
TEST(Bpe, MergesThroughATextThatIsNotAToken) {
    TestVocabulary vocabulary;
    const int32_t abc = vocabulary.add("abc");
    vocabulary.merges = {"a b", "ab c"};
    const auto tokenizer = vocabulary.create();
    ASSERT_TRUE(tokenizer) << tokenizer.error().message;
    EXPECT_EQ((*tokenizer)->encode("abc", {.add_bos = false}), (std::vector<int32_t>{abc}));
    const int32_t byte_a = *(*tokenizer)->find("<0x61>");
    EXPECT_EQ((*tokenizer)->encode("ab", {.add_bos = false}), (std::vector<int32_t>{byte_a, byte_a + 1}));
}

}  // namespace
}  // namespace lapidary::tokenizer
