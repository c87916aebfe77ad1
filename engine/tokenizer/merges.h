// Merges: which two neighbouring pieces of text join, in which order of preference, and into what.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "gguf/header.h"
#include "tokenizer/characters.h"
#include "tokenizer/hash_index.h"
#include "tokenizer/vocabulary.h"

namespace lapidary::tokenizer {

// A piece of text is known by its symbol: the id of the token with that text, or a number beyond the vocabulary
// for a text that only merges mention, or kNoSymbol for a text that neither does and that nothing joins.
inline constexpr uint32_t kNoSymbol = HashIndex::kNone;
inline constexpr uint32_t kNoRank = HashIndex::kNone;

class Merges {
  public:
    static Result<Merges> read(const gguf::Header& header, const Vocabulary& vocabulary);

    // The place of the pair in the list of merges (lower joins first), or kNoRank.
    [[nodiscard]] uint32_t rank(uint32_t left, uint32_t right) const {
        return index_.find(hash_pair(left, right),
                           [&](uint32_t rank) { return merges_[rank].left == left && merges_[rank].right == right; });
    }
    // What the pair of this rank becomes.
    [[nodiscard]] uint32_t result(uint32_t rank) const { return merges_[rank].result; }

    [[nodiscard]] uint32_t symbol(std::string_view text, const Vocabulary& vocabulary) const;
    // The same for one character, faster.
    [[nodiscard]] uint32_t character_symbol(std::string_view character, const Vocabulary& vocabulary) const {
        const auto first = uint8_t(character[0]);
        return first < 0x80 ? ascii_[first] : symbol(character, vocabulary);
    }

    // False when no merge joins a piece that ends with the character `left` to one that begins with `right`,
    // whatever surrounds them: then a text may be cut between the two without changing what becomes of it.
    // Characters are given by their class; several may share one, which hides a place to cut, never invents one.
    [[nodiscard]] bool may_join(uint32_t left_class, uint32_t right_class) const {
        const uint32_t bit = left_class * kClasses + right_class;
        return (joins_[bit >> 5] >> (bit & 31) & 1) != 0;
    }
    // ASCII characters have a class each (the space's is that of the mark that stands for it), others share.
    static uint32_t character_class(std::string_view character) {
        const auto first = uint8_t(character[0]);
        if (first < 0x80) return first;
        if (character == kSpaceMark) return ' ';
        uint32_t bits = 0;
        for (const char c : character) bits = bits << 8 | uint8_t(c);
        return 128 + ((bits * 0x9E3779B1u) >> 16) % (kClasses - 128);
    }

    [[nodiscard]] size_t memory() const;

  private:
    static constexpr uint32_t kClasses = 1024;
    // Real files have no such text at all.
    static constexpr size_t kMaxExtraTexts = 1 << 16;

    struct Merge {
        uint32_t left;
        uint32_t right;
        uint32_t result;
    };

    static uint64_t hash_pair(uint32_t left, uint32_t right) { return mix(uint64_t(left) << 32 | right); }

    Status add(uint32_t rank, std::string_view line, const Vocabulary& vocabulary);
    Result<uint32_t> add_extra(std::string_view part, const Vocabulary& vocabulary);
    uint32_t find_result(std::string_view left, std::string_view right, const Vocabulary& vocabulary);
    void find_extra_results(const Vocabulary& vocabulary);

    std::vector<Merge> merges_;  // by rank
    HashIndex index_;            // by pair
    std::vector<uint32_t> joins_;
    std::array<uint32_t, 128> ascii_{};
    // Parts of merges that are not tokens. A tree: its cost does not depend on what the file chose them to be.
    std::map<std::string_view, uint32_t> extra_;
    std::vector<std::string_view> extra_texts_;
    uint32_t last_result_ = 0;  // these two only while reading
    std::string joined_;
};

}  // namespace lapidary::tokenizer
