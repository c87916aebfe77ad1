// TokenTexts: the bytes every token writes, sorted, so that tokens that begin alike are looked at together.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/tokenizer.h"

namespace lapidary::grammar {

// A set of tokens: bit i of word i / 32.
using TokenMask = std::vector<uint32_t>;

// A sorted list of texts. Each knows how many bytes it shares with the one before.
class TextList {
  public:
    [[nodiscard]] size_t size() const { return ids_.size(); }
    [[nodiscard]] std::string_view text(size_t at) const {
        return std::string_view(bytes_).substr(offsets_[at], offsets_[at + 1] - offsets_[at]);
    }
    [[nodiscard]] int32_t id(size_t at) const { return ids_[at]; }
    [[nodiscard]] uint8_t shared(size_t at) const { return shared_[at]; }
    // The first text that begins with a byte greater than this one.
    [[nodiscard]] size_t after(uint8_t byte) const { return after_[byte]; }
    // The first text after this one that shares no more than so many bytes with the one before it.
    [[nodiscard]] size_t skip(size_t at, size_t bytes) const {
        for (++at; at < size() && shared_[at] > bytes;) at = shorter_[at];
        return at;
    }
    // Characters of the text, when it is well-formed.
    [[nodiscard]] uint8_t characters(size_t at) const { return characters_[at]; }

    [[nodiscard]] size_t memory() const;

  private:
    friend class TokenTexts;
    std::string bytes_;
    std::vector<uint32_t> offsets_;
    std::vector<int32_t> ids_;
    std::vector<uint8_t> shared_;
    std::vector<uint32_t> shorter_;  // the first text after each that shares less than it
    std::vector<uint8_t> characters_;
    std::array<uint32_t, 256> after_{};
};

// Built once for a tokenizer. Control tokens and the markers of a conversation write nothing and are not in it.
class TokenTexts {
  public:
    // Tokens that write more are never chosen; no real vocabulary has any.
    static constexpr size_t kMaxTokenBytes = 255;

    explicit TokenTexts(std::shared_ptr<const tokenizer::Tokenizer> tokenizer);

    // Whole characters that stand for themselves in a JSON string.
    [[nodiscard]] const TextList& plain() const { return plain_; }
    // Everything else: quotes, backslashes, control characters, parts of characters.
    [[nodiscard]] const TextList& special() const { return special_; }
    [[nodiscard]] std::span<const uint32_t> plain_mask() const { return plain_mask_; }
    [[nodiscard]] uint32_t most_characters() const { return most_characters_; }

    // What a token writes; empty for a marker.
    [[nodiscard]] std::string text_of(int32_t token) const;
    // End the answer.
    [[nodiscard]] std::span<const int32_t> ends() const { return ends_; }
    [[nodiscard]] size_t mask_words() const { return plain_mask_.size(); }

    [[nodiscard]] size_t memory() const { return plain_.memory() + special_.memory() + plain_mask_.size() * 4; }

  private:
    std::shared_ptr<const tokenizer::Tokenizer> tokenizer_;
    TextList plain_;
    TextList special_;
    TokenMask plain_mask_;
    uint32_t most_characters_ = 0;
    std::vector<int32_t> ends_;
};

inline void clear_bit(std::span<uint32_t> mask, int32_t token) {
    mask[size_t(token) / 32] &= ~(1u << (uint32_t(token) % 32));
}

inline void set_bit(std::span<uint32_t> mask, int32_t token) {
    mask[size_t(token) / 32] |= 1u << (uint32_t(token) % 32);
}

}  // namespace lapidary::grammar
