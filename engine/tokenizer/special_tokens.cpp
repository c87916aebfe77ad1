#include "tokenizer/special_tokens.h"

#include <algorithm>
#include <span>

#include "base/edition.h"
#include "tokenizer/characters.h"
#include "tokenizer/gemma3_tokens.h"

namespace lapidary::tokenizer {

namespace {

// What a token of spaces looks like in a text, however the file writes it.
std::string_view in_texts(std::string_view text) {
    static constexpr auto kSpaces = [] {
        std::array<char, SpecialTokens::kMaxBytes> spaces{};
        spaces.fill(' ');
        return spaces;
    }();
    if (!text.starts_with(kSpaceMark)) return text;
    return {kSpaces.data(), text.size() / kSpaceMark.size()};
}

}  // namespace

Result<SpecialTokens> SpecialTokens::read(const Vocabulary& vocabulary) {
    const bool is_gemma3 = has_everything() && vocabulary.scheme() == Scheme::scores;
    return read_those(vocabulary, [&](std::string_view text) { return !is_gemma3 || !is_whole_text(text); });
}

Result<SpecialTokens> SpecialTokens::read_whole_texts(const Vocabulary& vocabulary) {
    auto special = TRY(read_those(vocabulary, is_whole_text));
    for (Token& token : special.tokens_) token.text = in_texts(token.text);
    std::ranges::sort(special.tokens_, {}, [](const Token& token) { return std::pair(token.text, token.id); });
    const auto repeated = std::ranges::unique(special.tokens_, {}, &Token::text);
    special.tokens_.erase(repeated.begin(), repeated.end());
    for (const Token& token : special.tokens_) special.is_first_[uint8_t(token.text[0])] = true;
    return special;
}

template <class Wanted>
Result<SpecialTokens> SpecialTokens::read_those(const Vocabulary& vocabulary, Wanted&& wanted) {
    SpecialTokens special;
    for (uint32_t id = 0; id < vocabulary.size(); ++id) {
        const TokenKind kind = vocabulary.kind(id);
        if (kind == TokenKind::normal || kind == TokenKind::byte) continue;
        const std::string_view text = vocabulary.text(id);
        if (!wanted(text)) continue;
        if (text.size() > kMaxBytes) {
            return fail(Code::limit, "the special token {} is {} bytes long; at most {} are accepted", id, text.size(),
                        kMaxBytes);
        }
        if (text.empty() || vocabulary.find(text) != id) continue;  // nothing to match, or matched as a lower id
        special.tokens_.push_back({text, id, kind != TokenKind::user_defined});
        special.is_first_[uint8_t(text[0])] = true;
    }
    std::ranges::sort(special.tokens_, {}, &Token::text);
    return special;
}

std::optional<SpecialTokens::Match> SpecialTokens::find(std::string_view text, size_t from, bool control) const {
    for (size_t at = from; at < text.size(); ++at) {
        if (!is_first_[uint8_t(text[at])]) continue;
        if (const auto match = match_at(text, at, control)) return match;
    }
    return std::nullopt;
}

// Walks the sorted texts like a tree: after n bytes, `candidates` are those that begin with the n bytes seen.
std::optional<SpecialTokens::Match> SpecialTokens::match_at(std::string_view text, size_t at, bool control) const {
    std::optional<Match> best;
    std::span<const Token> candidates = tokens_;
    for (size_t n = 0; at + n < text.size(); ++n) {
        const auto with_byte = std::ranges::equal_range(candidates, uint8_t(text[at + n]), {},
                                                        [n](const Token& token) { return uint8_t(token.text[n]); });
        candidates = {with_byte.begin(), with_byte.end()};
        if (candidates.empty()) break;
        // The text that ends here sorts before those that go on.
        const Token& first = candidates.front();
        if (first.text.size() > n + 1) continue;
        if (control || !first.control) best = Match{at, n + 1, first.id};
        candidates = candidates.subspan(1);
    }
    return best;
}

size_t SpecialTokens::memory() const {
    return tokens_.capacity() * sizeof(Token) + sizeof(*this);
}

}  // namespace lapidary::tokenizer
