// Byte pair encoding: text without special tokens → ids.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/merges.h"
#include "tokenizer/vocabulary.h"
#include "tokenizer/word_cache.h"

namespace lapidary::tokenizer {

// Made for one call and thrown away: it holds the working memory, which grows with the longest word.
class Bpe {
  public:
    Bpe(const Vocabulary& vocabulary, const Merges& merges, WordCache& cache)
        : vocabulary_(vocabulary), merges_(merges), cache_(cache) {}

    // Appends the tokens of a text of any bytes. Time grows as n log n at worst.
    void encode(std::string_view text, std::vector<int32_t>& out);

  private:
    static constexpr uint32_t kEnd = 0xFFFFFFFFu;

    // A piece of the word being encoded, in a list linked through the array.
    struct Piece {
        uint32_t symbol;
        uint32_t begin;  // byte in the word
        uint32_t previous;
        uint32_t next;
        uint32_t rank;  // of joining it with the next piece
    };

    void encode_newlines(std::string_view run, std::vector<int32_t>& out);
    void encode_line(std::string_view run, std::vector<int32_t>& out);
    void encode_word(std::string_view word, std::vector<int32_t>& out);
    void merge_word(std::string_view word, std::vector<int32_t>& out);
    void split(std::string_view word);
    void rank_with_next(uint32_t at);
    void join_with_next(uint32_t at);

    const Vocabulary& vocabulary_;
    const Merges& merges_;
    WordCache& cache_;
    std::string line_;
    std::vector<Piece> pieces_;
    std::vector<uint64_t> queue_;  // a heap of rank << 32 | piece: the best rank first, then the leftmost
};

}  // namespace lapidary::tokenizer
