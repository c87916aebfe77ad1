#include "grammar/constraint.h"

#include <algorithm>
#include <array>

namespace lapidary::grammar {
namespace {

// A mask of Gemma 4's vocabulary is 32 KiB; these are 2 MiB.
constexpr size_t kMaxMasks = 64;

}  // namespace

Constraint::Constraint(std::shared_ptr<const Program> program, const std::shared_ptr<const TokenTexts>& texts)
    : Constraint(std::move(program), texts, {.inside = {}, .ends = {texts->ends().begin(), texts->ends().end()}}) {}

Constraint::Constraint(std::shared_ptr<const Program> program, std::shared_ptr<const TokenTexts> texts, Marks marks)
    : texts_(std::move(texts)),
      marks_(std::move(marks)),
      recogniser_(std::move(program)),
      state_(recogniser_.start()) {}

void Constraint::restart() {
    state_ = recogniser_.start();
}

std::span<const uint32_t> Constraint::allowed() {
    if (const auto known = masks_.find(state_); known != masks_.end()) return known->second;
    if (masks_.size() >= kMaxMasks) masks_.clear();
    tidy();
    return masks_.emplace(state_, make_mask()).first->second;
}

// Keeps what the recogniser remembers within bounds.
void Constraint::tidy() {
    const size_t before = recogniser_.size();
    state_ = recogniser_.trim(state_);
    if (recogniser_.size() != before) masks_.clear();  // states have new names
}

TokenMask Constraint::make_mask() {
    TokenMask mask(texts_->mask_words());
    const uint32_t room = recogniser_.room(state_);
    const TextList& plain = texts_->plain();
    if (room >= texts_->most_characters()) {
        // Inside a string without an end in sight: all plain text is fine, and need not be looked at.
        std::ranges::copy(texts_->plain_mask(), mask.begin());
    } else if (room > 0 && recogniser_.only_room(state_)) {
        for (size_t i = 0; i < plain.size(); ++i) {
            if (plain.characters(i) <= room) set_bit(mask, plain.id(i));
        }
    } else {
        walk(plain, mask);
    }
    walk(texts_->special(), mask);
    if (complete()) {
        for (const int32_t end : marks_.ends) set_bit(mask, end);
    }
    for (const Marks::Mark& mark : marks_.inside) {
        if (after(mark.bytes) != Recogniser::kDead) set_bit(mask, mark.token);
    }
    return mask;
}

// Feeds every text of the list to the recogniser. What it shares with the text before was read then; once a
// text is refused, so are all that share the byte it was refused at.
void Constraint::walk(const TextList& list, std::span<uint32_t> mask) {
    std::array<Recogniser::State, TokenTexts::kMaxTokenBytes + 1> reached{};
    reached[0] = state_;
    size_t at = 0;
    while (at < list.size()) {
        const std::string_view text = list.text(at);
        size_t read = list.shared(at);
        while (read < text.size()) {
            const Recogniser::State next = recogniser_.next(reached[read], uint8_t(text[read]));
            if (next == Recogniser::kDead) break;
            reached[++read] = next;
        }
        if (read == text.size()) {
            set_bit(mask, list.id(at));
            ++at;
            continue;
        }
        if (read == 0) {
            at = list.after(uint8_t(text[0]));
            continue;
        }
        ++at;
        while (at < list.size() && list.shared(at) > read) ++at;
    }
}

std::string Constraint::text_of(int32_t token) const {
    const auto mark = std::ranges::find(marks_.inside, token, &Marks::Mark::token);
    return mark != marks_.inside.end() ? mark->bytes : texts_->text_of(token);
}

Recogniser::State Constraint::after(std::string_view text) {
    Recogniser::State state = state_;
    for (size_t i = 0; i < text.size() && state != Recogniser::kDead; ++i) {
        state = recogniser_.next(state, uint8_t(text[i]));
    }
    return state;
}

bool Constraint::accept(int32_t token) {
    if (complete() && std::ranges::find(marks_.ends, token) != marks_.ends.end()) return true;
    const std::string text = text_of(token);
    if (text.empty()) return false;
    tidy();
    const Recogniser::State next = after(text);
    if (next == Recogniser::kDead) return false;
    state_ = next;
    return true;
}

}  // namespace lapidary::grammar
