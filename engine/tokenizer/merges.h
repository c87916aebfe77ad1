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
#include "tokenizer/hash_index.h"
#include "tokenizer/joints.h"
#include "tokenizer/vocabulary.h"

namespace lapidary::tokenizer {

class Merges {
  public:
    static Result<Merges> read(const gguf::Header& header, const Vocabulary& vocabulary);

    // Of the rules of a Joiner. A join is known by its rank, the place of the pair in the list: lower joins first.
    [[nodiscard]] uint32_t join(uint32_t left, uint32_t right, std::string_view /*both*/,
                                const Vocabulary& /*vocabulary*/) const {
        if (left == kNoSymbol || right == kNoSymbol) return kNoJoin;
        return index_.find(hash_pair(left, right),
                           [&](uint32_t rank) { return merges_[rank].left == left && merges_[rank].right == right; });
    }
    [[nodiscard]] uint32_t order(uint32_t rank) const { return rank; }
    [[nodiscard]] uint32_t result(uint32_t rank) const { return merges_[rank].result; }
    [[nodiscard]] const Joints& joints() const { return joints_; }
    [[nodiscard]] uint32_t symbol(std::string_view character, const Vocabulary& vocabulary) const {
        const auto first = uint8_t(character[0]);
        return first < 0x80 ? ascii_[first] : symbol_of(character, vocabulary);
    }

    [[nodiscard]] size_t memory() const;

  private:
    // Real files have no such text at all.
    static constexpr size_t kMaxExtraTexts = 1 << 16;

    struct Merge {
        uint32_t left;
        uint32_t right;
        uint32_t result;
    };

    static uint64_t hash_pair(uint32_t left, uint32_t right) { return mix(uint64_t(left) << 32 | right); }

    [[nodiscard]] uint32_t symbol_of(std::string_view text, const Vocabulary& vocabulary) const;
    Status add(uint32_t rank, std::string_view line, const Vocabulary& vocabulary);
    Result<uint32_t> add_extra(std::string_view part, const Vocabulary& vocabulary);
    uint32_t find_result(std::string_view left, std::string_view right, const Vocabulary& vocabulary);
    void find_extra_results(const Vocabulary& vocabulary);

    std::vector<Merge> merges_;  // by rank
    HashIndex index_;            // by pair
    Joints joints_;
    std::array<uint32_t, 128> ascii_{};
    // Parts of merges that are not tokens. A tree: its cost does not depend on what the file chose them to be.
    std::map<std::string_view, uint32_t> extra_;
    std::vector<std::string_view> extra_texts_;
    uint32_t last_result_ = 0;  // these two only while reading
    std::string joined_;
};

}  // namespace lapidary::tokenizer
