// Tokenizer: text ↔ ids, exactly as Gemma 4 and Gemma 3 were trained with, for any vocabulary of their kinds.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "gguf/header.h"
#include "tokenizer/bpe.h"
#include "tokenizer/merges.h"
#include "tokenizer/scores.h"
#include "tokenizer/special_tokens.h"
#include "tokenizer/vocabulary.h"
#include "tokenizer/word_cache.h"

namespace lapidary::tokenizer {

struct EncodeOptions {
    // Put the beginning token first, unless the text already begins with it (and parse_special lets it count).
    bool add_bos = true;
    // Let the text of a control token, such as <turn|>, become that token. Off for text that must not be able to
    // end its own turn.
    bool parse_special = true;
    // Put the token <eos> last, as models of embeddings want it (Tokenizer::adds_eos).
    bool add_eos = false;
};

// A part of a text, and whether its author may write special tokens: "<turn|>" in a trusted piece is the token, in
// any other it is seven characters.
struct TextPiece {
    std::string_view text;
    bool trusted = false;
};

// Single-threaded like the engine: encoding remembers words it has seen.
class Tokenizer {
  public:
    // Keeps the header's bytes alive; the header itself may go. not_found: the file has no vocabulary.
    static Result<std::shared_ptr<const Tokenizer>> create(const gguf::Header& header);

    // Any bytes are accepted; those that are not UTF-8 become byte tokens.
    [[nodiscard]] std::vector<int32_t> encode(std::string_view text, EncodeOptions options = {}) const;

    // A text put together by several authors, as if it were one, except that special tokens are recognised (all of
    // them) inside trusted pieces only. No beginning token is added. What Gemma 3 calls user-defined although it is
    // text, runs of newlines for one, is recognised everywhere, across pieces too.
    [[nodiscard]] std::vector<int32_t> encode_pieces(std::span<const TextPiece> pieces) const;

    // The bytes the ids stand for, which need not be whole characters (see StreamDecoder). Control tokens are
    // left out unless `special`. Ids that are not tokens stand for nothing.
    [[nodiscard]] std::string decode(std::span<const int32_t> ids, bool special) const;
    // The same for one id, at the end of `out`.
    void append_piece(int32_t id, bool special, std::string& out) const;

    // The token's text as the vocabulary writes it (a space is U+2581, a byte <0xXX>); empty when not valid.
    [[nodiscard]] std::string_view text(int32_t id) const;
    // The token with exactly this text in the vocabulary. Ids differ between vocabularies: ask for "<turn|>".
    [[nodiscard]] std::optional<int32_t> find(std::string_view text) const;

    [[nodiscard]] int32_t size() const { return int32_t(vocabulary_.size()); }
    [[nodiscard]] bool is_valid(int32_t id) const { return id >= 0 && id < size(); }
    // Ids that are not tokens count as unknown.
    [[nodiscard]] TokenKind kind(int32_t id) const {
        return is_valid(id) ? vocabulary_.kind(uint32_t(id)) : TokenKind::unknown;
    }
    // A token that gives an answer its structure: the end of a turn, the beginning of a call.
    [[nodiscard]] bool is_marker(int32_t id) const;
    [[nodiscard]] Scheme scheme() const { return vocabulary_.scheme(); }
    [[nodiscard]] int32_t bos() const { return int32_t(vocabulary_.bos()); }
    [[nodiscard]] int32_t eos() const { return int32_t(vocabulary_.eos()); }
    // The file wants texts to end with eos(): a model of embeddings.
    [[nodiscard]] bool adds_eos() const { return vocabulary_.adds_eos(); }
    // The model has said what it wanted: its turn is over, or it waits for the answer of a tool.
    [[nodiscard]] bool is_end_of_generation(int32_t id) const;
    [[nodiscard]] const std::vector<uint32_t>& ends_of_generation() const { return vocabulary_.ends(); }  // sorted

    // Bytes held beside those of the header.
    [[nodiscard]] size_t memory() const;

  private:
    // One of the two kinds of rules is there.
    struct Rules {
        Merges merges;
        std::unique_ptr<const Scores> scores;
    };

    Tokenizer(Vocabulary vocabulary, Rules rules, SpecialTokens special, SpecialTokens whole_texts)
        : vocabulary_(std::move(vocabulary)),
          rules_(std::move(rules)),
          special_(std::move(special)),
          whole_texts_(std::move(whole_texts)) {}

    class PlainText;

    Vocabulary vocabulary_;
    Rules rules_;
    SpecialTokens special_;
    SpecialTokens whole_texts_;
    mutable WordCache cache_;
};

}  // namespace lapidary::tokenizer
