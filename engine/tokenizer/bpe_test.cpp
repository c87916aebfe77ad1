// The fast tokenizer against the slow one, on texts and vocabularies drawn at random.
#include "tokenizer/bpe.h"

#include <gtest/gtest.h>

#include <random>

#include "tokenizer/slow_tokenizer.h"
#include "tokenizer/test_vocabulary.h"

namespace lapidary::tokenizer {
namespace {

class Random {
  public:
    explicit Random(uint32_t seed) : engine_(seed) {}
    uint32_t below(uint32_t limit) { return uint32_t(engine_() % limit); }

    std::string character(uint32_t low, uint32_t high) {
        uint32_t code = low + below(high - low);
        if (code >= 0xD800 && code < 0xE000) code = 0xFFFD;
        if (code < 0x80) return {char(code)};
        if (code < 0x800) return {char(0xC0 | code >> 6), char(0x80 | (code & 63))};
        if (code < 0x10000) return {char(0xE0 | code >> 12), char(0x80 | (code >> 6 & 63)), char(0x80 | (code & 63))};
        return {char(0xF0 | code >> 18), char(0x80 | (code >> 12 & 63)), char(0x80 | (code >> 6 & 63)),
                char(0x80 | (code & 63))};
    }

  private:
    std::mt19937 engine_;
};

// Words of the vocabulary among all that surrounds words in real texts and in hostile ones.
std::string random_text(Random& random, const Tokenizer& tokenizer, bool valid, bool special) {
    std::string text;
    const uint32_t parts = 1 + random.below(24);
    for (uint32_t i = 0; i < parts; ++i) {
        switch (random.below(14)) {
            case 0: text += std::string(1 + random.below(40), ' '); break;
            case 1: text += std::string(1 + random.below(40), '\n'); break;
            case 2: text += random.character(0, 0x110000); break;
            case 3: text += random.character(0x4E00, 0x5000); break;
            case 4: text += random.character(0x80, 0x3000); break;
            case 5: text += random.character(0x20, 0x7F); break;
            case 6: text += std::to_string(random.below(100000)); break;
            case 7: text += std::string(1 + random.below(20), char('a' + random.below(26))); break;
            case 8:
                if (!valid) text += char(random.below(256));
                break;
            case 9:
                if (special) {
                    constexpr std::array kTexts = {"<turn|>", "<|turn>", "<|\"|>", "<|channel>", "<bos>", "<unk>",
                                                   "<|tool",  "turn|>",  "<mask>", "<table>",    "<0x41>"};
                    text += kTexts[random.below(kTexts.size())];
                }
                break;
            default: {
                const auto id = int32_t(random.below(uint32_t(tokenizer.size())));
                if (tokenizer.kind(id) == TokenKind::normal && !tokenizer.text(id).starts_with('<')) {
                    tokenizer.append_piece(id, false, text);
                }
                if (random.below(2) == 0) text += ' ';
            }
        }
    }
    return text;
}

void expect_equals_the_slow_one(const LoadedVocabulary& vocabulary, uint32_t seed, int texts) {
    const SlowTokenizer slow(vocabulary.header);
    Random random(seed);
    for (int i = 0; i < texts; ++i) {
        const std::string text = random_text(random, *vocabulary.tokenizer, random.below(2) == 0, true);
        const bool parse = random.below(2) == 0;
        const auto ids = vocabulary.tokenizer->encode(text, {.add_bos = false, .parse_special = parse});
        ASSERT_EQ(ids, slow.encode(text, parse)) << "text " << i << ": " << text;
        // The second time most words come from memory.
        ASSERT_EQ(ids, vocabulary.tokenizer->encode(text, {.add_bos = false, .parse_special = parse})) << text;
    }
}

void expect_round_trips(const Tokenizer& tokenizer, uint32_t seed, int texts) {
    Random random(seed);
    for (int i = 0; i < texts; ++i) {
        std::string text = random_text(random, tokenizer, true, false);
        // The space mark itself comes back as the space it stands for.
        if (text.contains("▁")) continue;
        ASSERT_EQ(tokenizer.decode(tokenizer.encode(text), false), text);
    }
}

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

#if __has_feature(address_sanitizer)
constexpr size_t kLongText = 1 << 18;  // everything takes ten times as long
#else
constexpr size_t kLongText = 1 << 20;
#endif

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
