// What the rules of joining share: symbols, and Joints, between which characters pieces ever join.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "tokenizer/characters.h"
#include "tokenizer/hash_index.h"

namespace lapidary::tokenizer {

// A piece of text is known by its symbol: the id of the token with that text, or a number beyond the vocabulary for a
// text that only rules mention, or kNoSymbol.
inline constexpr uint32_t kNoSymbol = HashIndex::kNone;
// A pair that does not join.
inline constexpr uint32_t kNoJoin = HashIndex::kNone;

class Joints {
  public:
    Joints() : joins_(kClasses * kClasses / 32) {}

    // ASCII characters have a class each (the space's is that of the mark that stands for it), others share.
    static uint32_t character_class(std::string_view character) {
        const auto first = uint8_t(character[0]);
        if (first < 0x80) return first;
        if (character == kSpaceMark) return ' ';
        uint32_t bits = 0;
        for (const char c : character) bits = bits << 8 | uint8_t(c);
        return 128 + ((bits * 0x9E3779B1u) >> 16) % (kClasses - 128);
    }

    // A piece that ends with a character of the class `left` joins one that begins with one of the class `right`.
    void add(uint32_t left, uint32_t right) {
        const uint32_t bit = left * kClasses + right;
        joins_[bit >> 5] |= 1u << (bit & 31);
    }

    // False when nothing joins a piece that ends with a character of the class `left` to one that begins with one of
    // `right`, whatever surrounds them: then a text may be cut between the two without changing what becomes of it.
    // Classes that several characters share hide a place to cut, and never invent one.
    [[nodiscard]] bool may_join(uint32_t left, uint32_t right) const {
        const uint32_t bit = left * kClasses + right;
        return (joins_[bit >> 5] >> (bit & 31) & 1) != 0;
    }

    [[nodiscard]] size_t memory() const { return joins_.capacity() * sizeof(uint32_t); }

  private:
    static constexpr uint32_t kClasses = 1024;

    std::vector<uint32_t> joins_;
};

}  // namespace lapidary::tokenizer
