// Byte pair encoding: text without special tokens → ids, by the list of merges of Gemma 4.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "tokenizer/joiner.h"
#include "tokenizer/merges.h"

namespace lapidary::tokenizer {

class Bpe {
  public:
    Bpe(const Vocabulary& vocabulary, const Merges& merges, WordCache& cache)
        : vocabulary_(vocabulary), joiner_(vocabulary, merges, cache) {}

    // Appends the tokens of a text of any bytes.
    void encode(std::string_view text, std::vector<int32_t>& out);

  private:
    const Vocabulary& vocabulary_;
    Joiner<Merges> joiner_;
};

}  // namespace lapidary::tokenizer
