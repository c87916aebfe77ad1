// Vocabulary: the tokens of a file by id and by text. Their texts stay where they are, in the file's header.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "gguf/header.h"
#include "tokenizer/hash_index.h"
#include "tokenizer/token_kind.h"

namespace lapidary::tokenizer {

// Beyond these a file is refused. Gemma 4 has 262,144 tokens and 514,906 merges.
inline constexpr uint64_t kMaxTokens = 1 << 20;
inline constexpr uint64_t kMaxMerges = 1 << 21;

// How pieces of text become tokens, and so what a token's text means.
enum class Scheme : uint8_t {
    merges,  // Gemma 4: a list of merges
    scores,  // Gemma 3: SentencePiece, tokens with scores
};

class Vocabulary {
  public:
    static Result<Vocabulary> read(const gguf::Header& header);

    [[nodiscard]] Scheme scheme() const { return scheme_; }
    [[nodiscard]] uint32_t size() const { return uint32_t(offsets_.size()); }
    [[nodiscard]] std::string_view text(uint32_t id) const {
        const uint8_t* at = bytes_->data() + offsets_[id];
        return {reinterpret_cast<const char*>(at) + 8, size_t(gguf::load<uint64_t>(at))};
    }
    [[nodiscard]] TokenKind kind(uint32_t id) const { return kinds_[id]; }
    // No text occurs twice. So it is in every real file, but nothing depends on it.
    [[nodiscard]] bool texts_differ() const { return texts_differ_; }
    // The lowest id with this text.
    [[nodiscard]] std::optional<uint32_t> find(std::string_view text) const {
        const uint32_t id = index_.find(hash_text(text), [&](uint32_t other) { return this->text(other) == text; });
        return id == HashIndex::kNone ? std::nullopt : std::optional(id);
    }

    [[nodiscard]] uint32_t bos() const { return bos_; }
    // What follows a text that is to be embedded: files of embedding models ask for it.
    [[nodiscard]] uint32_t eos() const { return eos_; }
    [[nodiscard]] bool adds_eos() const { return adds_eos_; }
    [[nodiscard]] const std::vector<uint32_t>& ends() const { return ends_; }
    [[nodiscard]] uint32_t byte_token(uint8_t byte) const { return byte_tokens_[byte]; }
    // Only for a token of kind byte.
    [[nodiscard]] uint8_t byte_value(uint32_t id) const;

    [[nodiscard]] size_t memory() const;

  private:
    Status read_texts(const gguf::Header& header);
    Status read_kinds(const gguf::Header& header);
    Status find_bytes();
    Status find_bos(const gguf::Header& header);
    Status find_eos(const gguf::Header& header);
    Status find_ends(const gguf::Header& header);
    Status add_end(int64_t id, std::string_view key);

    std::shared_ptr<const Bytes> bytes_;
    std::vector<uint32_t> offsets_;  // of each text's length word, which its bytes follow
    std::vector<TokenKind> kinds_;
    Scheme scheme_ = Scheme::merges;
    HashIndex index_;
    bool texts_differ_ = true;
    uint32_t bos_ = 0;
    uint32_t eos_ = 0;
    bool adds_eos_ = false;
    std::vector<uint32_t> ends_;  // sorted
    std::array<uint32_t, 256> byte_tokens_{};
};

// An array of strings under this key with at least one and at most `limit` elements, or the reason why not.
Result<gguf::Array> string_array(const gguf::Header& header, std::string_view key, uint64_t limit);

}  // namespace lapidary::tokenizer
