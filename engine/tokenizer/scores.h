// Scores: in SentencePiece vocabularies two pieces join when they are a token together, the token of the highest score first.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "gguf/header.h"
#include "tokenizer/joints.h"
#include "tokenizer/vocabulary.h"

namespace lapidary::tokenizer {

class Scores {
  public:
    static Result<Scores> read(const gguf::Header& header, const Vocabulary& vocabulary);

    // Of the rules of a Joiner. A join is known by the token it gives.
    [[nodiscard]] uint32_t symbol(std::string_view character, const Vocabulary& vocabulary) const {
        const auto first = uint8_t(character[0]);
        return first < 0x80 ? ascii_[first] : token(character, vocabulary);
    }
    [[nodiscard]] uint32_t join(uint32_t /*left*/, uint32_t /*right*/, std::string_view both,
                                const Vocabulary& vocabulary) const {
        return both.size() > longest_ ? kNoJoin : token(both, vocabulary);
    }
    [[nodiscard]] uint32_t order(uint32_t token) const { return order_[token]; }
    [[nodiscard]] uint32_t result(uint32_t token) const { return token; }
    [[nodiscard]] const Joints& joints() const { return joints_; }

    [[nodiscard]] size_t memory() const {
        return order_.capacity() * sizeof(uint32_t) + joints_.memory() + sizeof(*this);
    }

  private:
    // Only ordinary tokens: no text, however it is put together, becomes the structure of a conversation.
    static uint32_t token(std::string_view text, const Vocabulary& vocabulary) {
        const auto id = vocabulary.find(text);
        return id && vocabulary.kind(*id) == TokenKind::normal ? *id : kNoSymbol;
    }

    std::vector<uint32_t> order_;  // by token: the higher its score, the lower
    Joints joints_;
    std::array<uint32_t, 128> ascii_{};
    size_t longest_ = 0;  // bytes of the longest ordinary token
};

}  // namespace lapidary::tokenizer
