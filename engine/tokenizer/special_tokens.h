// SpecialTokens: finds the tokens that are matched in a text as they are, before anything else happens to it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "tokenizer/vocabulary.h"

namespace lapidary::tokenizer {

class SpecialTokens {
  public:
    // Longer texts are refused: matching them at every place of a long text would be slow.
    static constexpr size_t kMaxBytes = 256;

    // All special tokens but those that are text (is_whole_text).
    static Result<SpecialTokens> read(const Vocabulary& vocabulary);
    // The others, of which only Gemma 3 has any. They are found in every text, whoever wrote it.
    static Result<SpecialTokens> read_whole_texts(const Vocabulary& vocabulary);

    struct Match {
        size_t begin = 0;
        size_t size = 0;
        uint32_t id = 0;
    };
    // The first match at or after `from`; of those that begin there the longest. User-defined tokens always
    // match, control tokens and the unknown token only when asked for.
    [[nodiscard]] std::optional<Match> find(std::string_view text, size_t from, bool control) const;

    [[nodiscard]] bool empty() const { return tokens_.empty(); }
    [[nodiscard]] size_t memory() const;

  private:
    struct Token {
        std::string_view text;
        uint32_t id;
        bool control;
    };

    template <class Wanted>
    static Result<SpecialTokens> read_those(const Vocabulary& vocabulary, Wanted&& wanted);
    [[nodiscard]] std::optional<Match> match_at(std::string_view text, size_t at, bool control) const;

    std::vector<Token> tokens_;         // sorted by text, texts differ
    std::array<bool, 256> is_first_{};  // the bytes a special token begins with
};

}  // namespace lapidary::tokenizer
