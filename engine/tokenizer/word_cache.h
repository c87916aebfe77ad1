// WordCache: remembers what became of the short words seen last. Of a fixed size; a newcomer replaces the word
// that lies in its place.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "tokenizer/hash_index.h"

namespace lapidary::tokenizer {

class WordCache {
  public:
    // An entry fills one cache line. English words are shorter than this, and seldom more than three tokens.
    static constexpr size_t kMaxWordBytes = 34;
    static constexpr size_t kMaxTokens = 7;
    static constexpr size_t kEntries = 8192;

    class Entry {
      public:
        [[nodiscard]] bool holds(std::string_view word) const {
            return word.size() == length_ && std::memcmp(word.data(), word_.data(), word.size()) == 0;
        }
        [[nodiscard]] std::span<const int32_t> tokens() const { return std::span(tokens_).first(count_); }

        // A result that does not fit is not kept.
        void keep(std::string_view word, std::span<const int32_t> tokens) {
            if (tokens.size() > kMaxTokens) return;
            length_ = uint8_t(word.size());
            count_ = uint8_t(tokens.size());
            std::memcpy(word_.data(), word.data(), word.size());
            std::memcpy(tokens_.data(), tokens.data(), tokens.size_bytes());
        }

      private:
        uint8_t length_ = 0;  // 0: empty; no word is
        uint8_t count_ = 0;
        std::array<char, kMaxWordBytes> word_{};
        std::array<int32_t, kMaxTokens> tokens_{};
    };

    WordCache() : entries_(kEntries) {}

    // Where this word is, or would be. Only for words of 1 to kMaxWordBytes bytes.
    Entry& place(std::string_view word) { return entries_[size_t(hash_text(word) >> 32) % kEntries]; }

    [[nodiscard]] size_t memory() const { return entries_.capacity() * sizeof(Entry); }

  private:
    std::vector<Entry> entries_;
};
static_assert(sizeof(WordCache::Entry) == 64);

}  // namespace lapidary::tokenizer
