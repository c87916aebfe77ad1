#include "tokenizer/tokenizer.h"

#include <algorithm>

#include "base/edition.h"
#include "tokenizer/characters.h"
#include "tokenizer/gemma3_tokens.h"
#include "tokenizer/joiner.h"

namespace lapidary::tokenizer {

Result<std::shared_ptr<const Tokenizer>> Tokenizer::create(const gguf::Header& header) {
    auto vocabulary = TRY(Vocabulary::read(header));
    auto special = TRY(SpecialTokens::read(vocabulary));
    Rules rules;
    SpecialTokens whole_texts;
    if (has_everything() && vocabulary.scheme() == Scheme::scores) {
        rules.scores = std::make_unique<const Scores>(TRY(Scores::read(header, vocabulary)));
        whole_texts = TRY(SpecialTokens::read_whole_texts(vocabulary));
    } else {
        rules.merges = TRY(Merges::read(header, vocabulary));
    }
    return std::shared_ptr<const Tokenizer>(
        new Tokenizer(std::move(vocabulary), std::move(rules), std::move(special), std::move(whole_texts)));
}

// Encodes text between special tokens. Made for one call, like what it holds.
class Tokenizer::PlainText {
  public:
    explicit PlainText(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {
        const Vocabulary& vocabulary = tokenizer.vocabulary_;
        if (has_everything() && tokenizer.rules_.scores) {
            scores_.emplace(vocabulary, *tokenizer.rules_.scores, tokenizer.cache_);
        } else {
            bpe_.emplace(vocabulary, tokenizer.rules_.merges, tokenizer.cache_);
        }
    }

    void encode(std::string_view text, std::vector<int32_t>& out) {
        if (!has_everything() || !scores_) return bpe_->encode(text, out);
        size_t at = 0;
        while (const auto match = tokenizer_.whole_texts_.find(text, at, false)) {
            scores_->encode(text.substr(at, match->begin - at), out);
            out.push_back(int32_t(match->id));
            at = match->begin + match->size;
        }
        scores_->encode(text.substr(at), out);
    }

  private:
    const Tokenizer& tokenizer_;
    std::optional<Bpe> bpe_;
    std::optional<Joiner<Scores>> scores_;
};

std::vector<int32_t> Tokenizer::encode(std::string_view text, EncodeOptions options) const {
    std::vector<int32_t> ids;
    ids.reserve(text.size() / 4 + 4);
    auto match = special_.find(text, 0, options.parse_special);
    const bool begins_with_bos = match && match->begin == 0 && match->id == vocabulary_.bos();
    if (options.add_bos && !begins_with_bos) ids.push_back(bos());

    PlainText plain(*this);
    size_t at = 0;
    while (match) {
        plain.encode(text.substr(at, match->begin - at), ids);
        ids.push_back(int32_t(match->id));
        at = match->begin + match->size;
        match = special_.find(text, at, options.parse_special);
    }
    plain.encode(text.substr(at), ids);
    if (options.add_eos) ids.push_back(eos());
    return ids;
}

std::vector<int32_t> Tokenizer::encode_pieces(std::span<const TextPiece> pieces) const {
    std::vector<int32_t> ids;
    PlainText plain(*this);
    std::string text;  // ordinary text since the last special token: a token may span the border of two pieces
    for (const TextPiece& piece : pieces) {
        size_t at = 0;
        while (const auto match = piece.trusted ? special_.find(piece.text, at, true) : std::nullopt) {
            text += piece.text.substr(at, match->begin - at);
            plain.encode(text, ids);
            text.clear();
            ids.push_back(int32_t(match->id));
            at = match->begin + match->size;
        }
        text += piece.text.substr(at);
    }
    plain.encode(text, ids);
    return ids;
}

std::string Tokenizer::decode(std::span<const int32_t> ids, bool special) const {
    std::string out;
    for (const int32_t id : ids) append_piece(id, special, out);
    return out;
}

void Tokenizer::append_piece(int32_t id, bool special, std::string& out) const {
    if (!is_valid(id)) return;
    switch (kind(id)) {
        case TokenKind::normal: append_with_spaces(text(id), out); return;
        case TokenKind::user_defined:
            if (is_marker(id)) {
                out += text(id);
            } else {
                append_with_spaces(text(id), out);
            }
            return;
        case TokenKind::byte: out += char(vocabulary_.byte_value(uint32_t(id))); return;
        case TokenKind::unknown:
        case TokenKind::control:
            if (special) out += text(id);
            return;
    }
}

std::string_view Tokenizer::text(int32_t id) const {
    return is_valid(id) ? vocabulary_.text(uint32_t(id)) : std::string_view();
}

std::optional<int32_t> Tokenizer::find(std::string_view text) const {
    return vocabulary_.find(text).transform([](uint32_t id) { return int32_t(id); });
}

bool Tokenizer::is_marker(int32_t id) const {
    const TokenKind kind = this->kind(id);
    if (kind == TokenKind::control) return true;
    if (kind != TokenKind::user_defined) return false;
    return !has_everything() || scheme() != Scheme::scores || !is_whole_text(text(id));
}

bool Tokenizer::is_end_of_generation(int32_t id) const {
    return is_valid(id) && std::ranges::binary_search(vocabulary_.ends(), uint32_t(id));
}

size_t Tokenizer::memory() const {
    return vocabulary_.memory() + rules_.merges.memory() + (rules_.scores ? rules_.scores->memory() : 0) +
           special_.memory() + whole_texts_.memory() + cache_.memory() + sizeof(*this);
}

}  // namespace lapidary::tokenizer
