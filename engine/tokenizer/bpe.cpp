#include "tokenizer/bpe.h"

#include <algorithm>
#include <functional>

namespace lapidary::tokenizer {

// Lines and the newlines between them are encoded apart: no merge joins the two.
void Bpe::encode(std::string_view text, std::vector<int32_t>& out) {
    while (!text.empty()) {
        const bool newlines = text[0] == '\n';
        const size_t end = std::min(text.size(), newlines ? text.find_first_not_of('\n') : text.find('\n'));
        const std::string_view run = text.substr(0, end);
        if (newlines) {
            encode_newlines(run, out);
        } else {
            encode_line(run, out);
        }
        text.remove_prefix(end);
    }
}

void Bpe::encode_newlines(std::string_view run, std::vector<int32_t>& out) {
    if (const auto id = vocabulary_.find(run)) {
        out.push_back(int32_t(*id));
    } else {
        merge_word(run, out);
    }
}

// Cuts the line wherever no merge can reach across, which for real vocabularies is before almost every space.
// The words between are short and come back often.
void Bpe::encode_line(std::string_view run, std::vector<int32_t>& out) {
    line_.clear();
    for (const char c : run) {
        if (c == ' ') {
            line_ += kSpaceMark;
        } else {
            line_ += c;
        }
    }
    const std::string_view line = line_;
    size_t word = 0;
    uint32_t before = 0;
    for (size_t at = 0; at < line.size();) {
        const std::string_view character = line.substr(at, first_character(line.substr(at)));
        const uint32_t now = Merges::character_class(character);
        if (at > word && !merges_.may_join(before, now)) {
            encode_word(line.substr(word, at - word), out);
            word = at;
        }
        before = now;
        at += character.size();
    }
    encode_word(line.substr(word), out);
}

void Bpe::encode_word(std::string_view word, std::vector<int32_t>& out) {
    if (word.size() > WordCache::kMaxWordBytes) {
        merge_word(word, out);
        return;
    }
    WordCache::Entry& entry = cache_.place(word);
    if (entry.holds(word)) {
        const auto tokens = entry.tokens();
        out.insert(out.end(), tokens.begin(), tokens.end());
        return;
    }
    const size_t begin = out.size();
    merge_word(word, out);
    entry.keep(word, std::span(out).subspan(begin));
}

void Bpe::merge_word(std::string_view word, std::vector<int32_t>& out) {
    split(word);
    queue_.clear();
    for (uint32_t at = 0; at < pieces_.size(); ++at) rank_with_next(at);
    while (!queue_.empty()) {
        std::ranges::pop_heap(queue_, std::greater<>());
        const uint64_t best = queue_.back();
        queue_.pop_back();
        const auto at = uint32_t(best);
        // Pieces change after they were queued: what was queued counts only while it is still true.
        if (pieces_[at].rank == uint32_t(best >> 32)) join_with_next(at);
    }
    for (uint32_t at = 0; at != kEnd; at = pieces_[at].next) {
        const Piece& piece = pieces_[at];
        if (piece.symbol < vocabulary_.size()) {
            out.push_back(int32_t(piece.symbol));
            continue;
        }
        const size_t end = piece.next == kEnd ? word.size() : pieces_[piece.next].begin;
        for (const char c : word.substr(piece.begin, end - piece.begin)) {
            out.push_back(int32_t(vocabulary_.byte_token(uint8_t(c))));
        }
    }
}

void Bpe::split(std::string_view word) {
    pieces_.clear();
    for (size_t at = 0; at < word.size();) {
        const std::string_view character = word.substr(at, first_character(word.substr(at)));
        const auto index = uint32_t(pieces_.size());
        pieces_.push_back(
            {merges_.character_symbol(character, vocabulary_), uint32_t(at), index - 1, index + 1, kNoRank});
        at += character.size();
    }
    pieces_.front().previous = kEnd;
    pieces_.back().next = kEnd;
}

void Bpe::rank_with_next(uint32_t at) {
    Piece& piece = pieces_[at];
    piece.rank = kNoRank;
    if (piece.next == kEnd || piece.symbol == kNoSymbol || pieces_[piece.next].symbol == kNoSymbol) return;
    piece.rank = merges_.rank(piece.symbol, pieces_[piece.next].symbol);
    if (piece.rank == kNoRank) return;
    queue_.push_back(uint64_t(piece.rank) << 32 | at);
    std::ranges::push_heap(queue_, std::greater<>());
}

void Bpe::join_with_next(uint32_t at) {
    Piece& piece = pieces_[at];
    Piece& gone = pieces_[piece.next];
    piece.symbol = merges_.result(piece.rank);
    gone.rank = kNoRank;
    piece.next = gone.next;
    if (piece.next != kEnd) pieces_[piece.next].previous = at;
    rank_with_next(at);
    if (piece.previous != kEnd) rank_with_next(piece.previous);
}

}  // namespace lapidary::tokenizer
