// For tests: texts drawn at random, and the fast tokenizer held to the slow one on them.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <string>

#include "tokenizer/slow_tokenizer.h"
#include "tokenizer/test_vocabulary.h"

namespace lapidary::tokenizer {

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
inline std::string random_text(Random& random, const Tokenizer& tokenizer, bool valid, bool special) {
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
                    constexpr std::array kTexts = {"<turn|>", "<|turn>",         "<|\"|>", "<|channel>",    "<bos>",
                                                   "<unk>",   "<|tool",          "turn|>", "<mask>",        "<table>",
                                                   "<0x41>",  "<start_of_turn>", "</s>",   "<end_of_turn>", "\t\t\t"};
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

inline void expect_equals_the_slow_one(const LoadedVocabulary& vocabulary, uint32_t seed, int texts) {
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

inline void expect_round_trips(const Tokenizer& tokenizer, uint32_t seed, int texts) {
    Random random(seed);
    for (int i = 0; i < texts; ++i) {
        std::string text = random_text(random, tokenizer, true, false);
        // The space mark itself comes back as the space it stands for.
        if (text.contains("▁")) continue;
        ASSERT_EQ(tokenizer.decode(tokenizer.encode(text), false), text);
    }
}

#if __has_feature(address_sanitizer)
inline constexpr size_t kLongText = 1 << 18;  // everything takes ten times as long
#else
inline constexpr size_t kLongText = 1 << 20;
#endif

}  // namespace lapidary::tokenizer
