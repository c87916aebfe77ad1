// Joiner: a text without special tokens → ids, by joining neighbouring pieces of it, the best pair first, the leftmost of
// equals, until no pair joins. Rules say what joins: a list of merges (merges.h), or the scores of tokens (scores.h).
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/characters.h"
#include "tokenizer/joints.h"
#include "tokenizer/vocabulary.h"
#include "tokenizer/word_cache.h"

namespace lapidary::tokenizer {

// Made for one call and thrown away: it holds the working memory, which grows with the longest word. `Rules` has
//   symbol(character, vocabulary)                 of one character
//   join(left, right, both, vocabulary)           of two symbols and the text they are together: a number, or kNoJoin
//   order(join), result(join)                     which join comes first (the lowest), and the symbol it gives
//   joints()
template <class Rules>
class Joiner {
  public:
    Joiner(const Vocabulary& vocabulary, const Rules& rules, WordCache& cache)
        : vocabulary_(vocabulary), rules_(rules), cache_(cache) {}

    // Cuts the text wherever nothing reaches across, which for real vocabularies is before almost every space. The words
    // between are short and come back often. Time grows as n log n at worst.
    void encode(std::string_view text, std::vector<int32_t>& out) {
        if (text.empty()) return;
        line_.clear();
        for (const char c : text) {
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
            const uint32_t now = Joints::character_class(character);
            if (at > word && !rules_.joints().may_join(before, now)) {
                encode_word(line.substr(word, at - word), out);
                word = at;
            }
            before = now;
            at += character.size();
        }
        encode_word(line.substr(word), out);
    }

    // Text in which spaces are marks already, and which nothing cuts.
    void join_word(std::string_view word, std::vector<int32_t>& out) {
        split(word);
        queue_.clear();
        for (uint32_t at = 0; at < pieces_.size(); ++at) queue_join(at, word);
        while (!queue_.empty()) {
            std::ranges::pop_heap(queue_, std::greater<>());
            const uint64_t best = queue_.back();
            queue_.pop_back();
            const Piece& piece = pieces_[uint32_t(best)];
            // Pieces change after they were queued: what was queued counts only while it is still true.
            if (piece.join == kNoJoin || rules_.order(piece.join) != uint32_t(best >> 32)) continue;
            join_with_next(uint32_t(best), word);
        }
        for (uint32_t at = 0; at != kEnd; at = pieces_[at].next) {
            const Piece& piece = pieces_[at];
            if (piece.symbol < vocabulary_.size()) {
                out.push_back(int32_t(piece.symbol));
                continue;
            }
            for (const char c : word.substr(piece.begin, end_of(piece, word) - piece.begin)) {
                out.push_back(int32_t(vocabulary_.byte_token(uint8_t(c))));
            }
        }
    }

  private:
    static constexpr uint32_t kEnd = 0xFFFFFFFFu;

    // A piece of the word being encoded, in a list linked through the array.
    struct Piece {
        uint32_t symbol;
        uint32_t begin;  // byte in the word
        uint32_t previous;
        uint32_t next;
        uint32_t join;  // with the next piece
    };

    void encode_word(std::string_view word, std::vector<int32_t>& out) {
        if (word.size() > WordCache::kMaxWordBytes) {
            join_word(word, out);
            return;
        }
        WordCache::Entry& entry = cache_.place(word);
        if (entry.holds(word)) {
            const auto tokens = entry.tokens();
            out.insert(out.end(), tokens.begin(), tokens.end());
            return;
        }
        const size_t begin = out.size();
        join_word(word, out);
        entry.keep(word, std::span(out).subspan(begin));
    }

    void split(std::string_view word) {
        pieces_.clear();
        for (size_t at = 0; at < word.size();) {
            const std::string_view character = word.substr(at, first_character(word.substr(at)));
            const auto index = uint32_t(pieces_.size());
            pieces_.push_back({rules_.symbol(character, vocabulary_), uint32_t(at), index - 1, index + 1, kNoJoin});
            at += character.size();
        }
        pieces_.front().previous = kEnd;
        pieces_.back().next = kEnd;
    }

    [[nodiscard]] size_t end_of(const Piece& piece, std::string_view word) const {
        return piece.next == kEnd ? word.size() : pieces_[piece.next].begin;
    }

    void queue_join(uint32_t at, std::string_view word) {
        Piece& piece = pieces_[at];
        piece.join = kNoJoin;
        if (piece.next == kEnd) return;
        const Piece& next = pieces_[piece.next];
        const std::string_view both = word.substr(piece.begin, end_of(next, word) - piece.begin);
        piece.join = rules_.join(piece.symbol, next.symbol, both, vocabulary_);
        if (piece.join == kNoJoin) return;
        queue_.push_back(uint64_t(rules_.order(piece.join)) << 32 | at);
        std::ranges::push_heap(queue_, std::greater<>());
    }

    void join_with_next(uint32_t at, std::string_view word) {
        Piece& piece = pieces_[at];
        Piece& gone = pieces_[piece.next];
        piece.symbol = rules_.result(piece.join);
        gone.join = kNoJoin;
        piece.next = gone.next;
        if (piece.next != kEnd) pieces_[piece.next].previous = at;
        queue_join(at, word);
        if (piece.previous != kEnd) queue_join(piece.previous, word);
    }

    const Vocabulary& vocabulary_;
    const Rules& rules_;
    WordCache& cache_;
    std::string line_;
    std::vector<Piece> pieces_;
    std::vector<uint64_t> queue_;  // a heap of order << 32 | piece: the best join first, then the leftmost
};

}  // namespace lapidary::tokenizer
