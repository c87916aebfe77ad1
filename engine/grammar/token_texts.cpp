#include "grammar/token_texts.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "chat/markers.h"
#include "grammar/byte_set.h"
#include "grammar/json_rules.h"
#include "tokenizer/utf8_stream.h"

namespace lapidary::grammar {
namespace {

using tokenizer::TokenKind;

// "<|turn>" and the like: a reader of the answer sees a mark there, not its letters.
bool is_marker(const tokenizer::Tokenizer& tokenizer, int32_t id) {
    const TokenKind kind = tokenizer.kind(id);
    if (kind == TokenKind::control || kind == TokenKind::unknown) return true;
    if (tokenizer.scheme() == tokenizer::Scheme::scores) return tokenizer.is_marker(id);
    const std::string_view text = tokenizer.text(id);
    return kind == TokenKind::user_defined && (text.starts_with("<|") || text.ends_with("|>"));
}

// What a token adds to the text. There are tokens for single bytes, also for those that no text has; one of these stands for
// a quotation mark in calls, which only the mark itself may write.
void append_text(const tokenizer::Tokenizer& tokenizer, int32_t id, std::string& out) {
    const size_t before = out.size();
    if (!is_marker(tokenizer, id)) tokenizer.append_piece(id, false, out);
    const bool impossible = std::string_view(out).substr(before).find(kQuoteByte) != std::string_view::npos;
    if (impossible || out.size() - before > TokenTexts::kMaxTokenBytes) out.resize(before);
}

// The number of characters, if all of them are whole and stand for themselves in a JSON string.
std::optional<uint8_t> plain_characters(std::string_view text) {
    size_t count = 0;
    bool beyond_ascii = false;
    for (const char c : text) {
        const auto byte = uint8_t(c);
        if (byte < 0x80 && !kPlainAscii.has(byte)) return std::nullopt;
        beyond_ascii = beyond_ascii || byte >= 0x80;
        if ((byte & 0xC0) != 0x80) ++count;
    }
    // Only well-formed text comes back from the decoder as it went in.
    if (beyond_ascii && tokenizer::Utf8Stream().feed(text) != text) return std::nullopt;
    // The separators of lines are characters that '.' in a pattern does not stand for.
    if (text.contains("\xE2\x80\xA8") || text.contains("\xE2\x80\xA9")) return std::nullopt;
    return uint8_t(count);
}

}  // namespace

size_t TextList::memory() const {
    return bytes_.capacity() + offsets_.capacity() * sizeof(uint32_t) + ids_.capacity() * sizeof(int32_t) +
           shared_.capacity() + shorter_.capacity() * sizeof(uint32_t) + characters_.capacity();
}

TokenTexts::TokenTexts(std::shared_ptr<const tokenizer::Tokenizer> tokenizer) : tokenizer_(std::move(tokenizer)) {
    // The texts in the order of ids, then lists that point into them.
    std::string bytes;
    std::vector<uint32_t> offsets = {0};
    std::array<std::vector<int32_t>, 2> ids;
    std::vector<uint8_t> characters;
    for (int32_t id = 0; id < tokenizer_->size(); ++id) {
        append_text(*tokenizer_, id, bytes);
        const std::string_view text = std::string_view(bytes).substr(offsets.back());
        offsets.push_back(uint32_t(bytes.size()));
        const auto plain = plain_characters(text);
        characters.push_back(plain.value_or(0));
        if (!text.empty()) ids[plain ? 0 : 1].push_back(id);
    }
    const auto text_of = [&](int32_t id) {
        return std::string_view(bytes).substr(offsets[size_t(id)], offsets[size_t(id) + 1] - offsets[size_t(id)]);
    };
    plain_mask_.assign((size_t(tokenizer_->size()) + 31) / 32, 0);
    for (const int32_t id : ids[0]) {
        set_bit(plain_mask_, id);
        most_characters_ = std::max<uint32_t>(most_characters_, characters[size_t(id)]);
    }
    for (size_t kind = 0; kind < 2; ++kind) {
        TextList& list = kind == 0 ? plain_ : special_;
        // Bytes compare unsigned in string_view; equal texts stay in the order of their ids.
        std::ranges::stable_sort(ids[kind], {}, text_of);
        size_t total = 0;
        for (const int32_t id : ids[kind]) total += text_of(id).size();
        list.bytes_.reserve(total);
        list.offsets_.reserve(ids[kind].size() + 1);
        list.offsets_.push_back(0);
        std::string_view before;
        for (const int32_t id : ids[kind]) {
            const std::string_view text = text_of(id);
            const auto [end, ignored] = std::ranges::mismatch(text, before);
            list.shared_.push_back(uint8_t(end - text.begin()));
            list.characters_.push_back(characters[size_t(id)]);
            list.bytes_ += text;
            list.offsets_.push_back(uint32_t(list.bytes_.size()));
            before = text;
            list.after_[uint8_t(text[0])] = uint32_t(list.offsets_.size() - 1);
        }
        for (size_t byte = 1; byte < 256; ++byte)
            list.after_[byte] = std::max(list.after_[byte], list.after_[byte - 1]);
        list.ids_ = std::move(ids[kind]);
        list.shorter_.resize(list.size());
        for (size_t at = list.size(); at > 0; --at) {
            size_t next = at;
            while (next < list.size() && list.shared_[next] >= list.shared_[at - 1]) next = list.shorter_[next];
            list.shorter_[at - 1] = uint32_t(next);
        }
    }
    // A turn ends with a control token. <|tool_response> ends a turn too, but after a call only.
    for (const uint32_t end : tokenizer_->ends_of_generation()) {
        if (chat::as_gemma4_marker(tokenizer_->text(int32_t(end))) != chat::kResponseOpen)
            ends_.push_back(int32_t(end));
    }
}

std::string TokenTexts::text_of(int32_t token) const {
    std::string text;
    append_text(*tokenizer_, token, text);
    return text;
}

}  // namespace lapidary::grammar
