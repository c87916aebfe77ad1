#include "tokenizer/merges.h"

#include <optional>
#include <string>

namespace lapidary::tokenizer {
namespace {

std::string_view last_character(std::string_view text) {
    while (true) {
        const size_t length = first_character(text);
        if (length == text.size()) return text;
        text.remove_prefix(length);
    }
}

}  // namespace

Result<Merges> Merges::read(const gguf::Header& header, const Vocabulary& vocabulary) {
    const gguf::Array lines = TRY(string_array(header, "tokenizer.ggml.merges", kMaxMerges));
    Merges merges;
    merges.merges_.reserve(size_t(lines.size()));
    merges.index_ = HashIndex(size_t(lines.size()));
    Status status;
    lines.for_each_string([&](uint64_t rank, std::string_view line) {
        if (status) status = merges.add(uint32_t(rank), line, vocabulary);
    });
    TRY(std::move(status));
    merges.find_extra_results(vocabulary);
    for (size_t i = 0; i < merges.ascii_.size(); ++i) {
        const char c = char(i);
        merges.ascii_[i] = merges.symbol_of({&c, 1}, vocabulary);
    }
    return merges;
}

Status Merges::add(uint32_t rank, std::string_view line, const Vocabulary& vocabulary) {
    // Texts hold no space, except that a part may be a lone space itself: look from the second byte on.
    const size_t space = line.find(' ', 1);
    if (space == std::string_view::npos || space + 1 == line.size()) {
        return fail(Code::bad_file, "merge {} of the vocabulary, '{}', does not consist of two parts", rank,
                    printable(line));
    }
    const std::string_view left = line.substr(0, space);
    const std::string_view right = line.substr(space + 1);
    Merge merge{symbol_of(left, vocabulary), symbol_of(right, vocabulary), kNoSymbol};
    if (merge.left == kNoSymbol) merge.left = TRY(add_extra(left, vocabulary));
    if (merge.right == kNoSymbol) merge.right = left == right ? merge.left : TRY(add_extra(right, vocabulary));
    merge.result = find_result(left, right, vocabulary);
    merges_.push_back(merge);

    const uint32_t first = index_.find_or_add(hash_pair(merge.left, merge.right), rank, [&](uint32_t other) {
        return merges_[other].left == merge.left && merges_[other].right == merge.right;
    });
    if (first == HashIndex::kNone) {
        return fail(Code::bad_file, "the merges of the vocabulary are chosen to make searching them slow");
    }
    if (first != rank) return {};  // a pair that is listed twice keeps its first, better place
    joints_.add(Joints::character_class(last_character(left)),
                Joints::character_class(right.substr(0, first_character(right))));
    return {};
}

Result<uint32_t> Merges::add_extra(std::string_view part, const Vocabulary& vocabulary) {
    if (extra_texts_.size() == kMaxExtraTexts) {
        return fail(Code::limit, "more than {} texts in the merges of the vocabulary are not among its tokens",
                    kMaxExtraTexts);
    }
    const auto added = uint32_t(vocabulary.size() + extra_texts_.size());
    extra_texts_.push_back(part);
    extra_.emplace(part, added);
    return added;
}

// The token that left + right are together, if it is one.
uint32_t Merges::find_result(std::string_view left, std::string_view right, const Vocabulary& vocabulary) {
    // Real lists go through the vocabulary in order, with all the ways to arrive at a token together: try the
    // last answer and its successor. (Where two tokens share a text, only the search knows which one counts.)
    for (uint32_t guess = last_result_; guess < vocabulary.size() && guess <= last_result_ + 1; ++guess) {
        if (!vocabulary.texts_differ()) break;
        const std::string_view text = vocabulary.text(guess);
        if (text.size() == left.size() + right.size() && text.starts_with(left) && text.ends_with(right)) {
            last_result_ = guess;
            return guess;
        }
    }
    joined_ = left;
    joined_ += right;
    const auto id = vocabulary.find(joined_);
    if (!id) return kNoSymbol;
    last_result_ = *id;
    return *id;
}

// A result that is not a token may still be part of another merge. If it is not, it needs no symbol: nothing
// will ask for it again.
void Merges::find_extra_results(const Vocabulary& vocabulary) {
    if (extra_.empty()) return;
    const auto text_of = [&](uint32_t symbol) {
        return symbol < vocabulary.size() ? vocabulary.text(symbol) : extra_texts_[symbol - vocabulary.size()];
    };
    for (Merge& merge : merges_) {
        if (merge.result != kNoSymbol) continue;
        joined_ = text_of(merge.left);
        joined_ += text_of(merge.right);
        merge.result = symbol_of(joined_, vocabulary);
    }
}

uint32_t Merges::symbol_of(std::string_view text, const Vocabulary& vocabulary) const {
    if (const auto id = vocabulary.find(text)) return *id;
    if (extra_.empty()) return kNoSymbol;
    const auto it = extra_.find(text);
    return it == extra_.end() ? kNoSymbol : it->second;
}

size_t Merges::memory() const {
    return merges_.capacity() * sizeof(Merge) + index_.memory() + joints_.memory() +
           extra_texts_.size() * (sizeof(std::string_view) + 64) + sizeof(*this);
}

}  // namespace lapidary::tokenizer
