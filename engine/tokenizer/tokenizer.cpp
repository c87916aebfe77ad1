#include "tokenizer/tokenizer.h"

#include <algorithm>

#include "tokenizer/characters.h"

namespace lapidary::tokenizer {

Result<std::shared_ptr<const Tokenizer>> Tokenizer::create(const gguf::Header& header) {
    auto vocabulary = TRY(Vocabulary::read(header));
    auto merges = TRY(Merges::read(header, vocabulary));
    auto special = TRY(SpecialTokens::read(vocabulary));
    return std::shared_ptr<const Tokenizer>(
        new Tokenizer(std::move(vocabulary), std::move(merges), std::move(special)));
}

std::vector<int32_t> Tokenizer::encode(std::string_view text, EncodeOptions options) const {
    std::vector<int32_t> ids;
    ids.reserve(text.size() / 4 + 4);
    auto match = special_.find(text, 0, options.parse_special);
    const bool begins_with_bos = match && match->begin == 0 && match->id == vocabulary_.bos();
    if (options.add_bos && !begins_with_bos) ids.push_back(bos());

    Bpe bpe(vocabulary_, merges_, cache_);
    size_t at = 0;
    while (match) {
        bpe.encode(text.substr(at, match->begin - at), ids);
        ids.push_back(int32_t(match->id));
        at = match->begin + match->size;
        match = special_.find(text, at, options.parse_special);
    }
    bpe.encode(text.substr(at), ids);
    return ids;
}

std::vector<int32_t> Tokenizer::encode_pieces(std::span<const TextPiece> pieces) const {
    std::vector<int32_t> ids;
    Bpe bpe(vocabulary_, merges_, cache_);
    std::string plain;  // ordinary text since the last special token: a token may span the border of two pieces
    for (const TextPiece& piece : pieces) {
        size_t at = 0;
        while (const auto match = piece.trusted ? special_.find(piece.text, at, true) : std::nullopt) {
            plain += piece.text.substr(at, match->begin - at);
            bpe.encode(plain, ids);
            plain.clear();
            ids.push_back(int32_t(match->id));
            at = match->begin + match->size;
        }
        plain += piece.text.substr(at);
    }
    bpe.encode(plain, ids);
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
        case TokenKind::user_defined: out += text(id); return;
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

bool Tokenizer::is_end_of_generation(int32_t id) const {
    return is_valid(id) && std::ranges::binary_search(vocabulary_.ends(), uint32_t(id));
}

size_t Tokenizer::memory() const {
    return vocabulary_.memory() + merges_.memory() + special_.memory() + cache_.memory() + sizeof(*this);
}

}  // namespace lapidary::tokenizer
