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
      recogniser_(program),
      state_(recogniser_.start()),
      exhausted_(recogniser_.exhausted()),
      watches_(program->distinct) {}

void Constraint::restart() {
    state_ = recogniser_.start();
    distinct_ = {};
}

std::span<const uint32_t> Constraint::allowed() {
    const bool watching = watches_ && distinct_.watching();
    if (const auto known = masks_.find(state_); known != masks_.end()) {
        return watching ? without_repeats(known->second) : known->second;
    }
    if (masks_.size() >= kMaxMasks) masks_.clear();
    tidy();
    recogniser_.allow(kMaskSteps);
    TokenMask mask = make_mask();
    steps_ = kMaskSteps - recogniser_.steps_left();
    if (recogniser_.exhausted()) {
        exhausted_ = true;
        std::ranges::fill(mask, 0u);
    }
    const TokenMask& made = masks_.emplace(state_, std::move(mask)).first->second;
    return watching ? without_repeats(made) : made;
}

// Whether items still differ after the text, and what it begins can be completed. `distinct` has read the text then.
bool Constraint::differs(std::string_view text, Distinct& distinct) {
    Recogniser::State state = state_;
    for (const char c : text) {
        const bool marked = c == '[' && recogniser_.opens_distinct(state);
        ++distinct_steps_;
        if (!distinct.read(uint8_t(c), marked)) return false;
        state = recogniser_.next(state, uint8_t(c));
    }
    return distinct.can_differ(recogniser_, state, distinct_steps_);
}

// The mask, but for tokens that would repeat an item. Inside a string whose end is open only those can that end it.
std::span<const uint32_t> Constraint::without_repeats(const TokenMask& mask) {
    different_ = mask;
    recogniser_.allow(kMaskSteps);
    distinct_steps_ = 0;
    const bool within = distinct_.within_new_string();
    const auto look = [&](int32_t token, std::string_view text) {
        if ((mask[size_t(token) / 32] >> (uint32_t(token) % 32) & 1) == 0 || distinct_steps_ > kMaskSteps) return;
        // What closes no string repeats nothing.
        if (within && text.find_first_of("\"\xFF") == std::string_view::npos) return;
        distinct_steps_ += distinct_.weight();
        Distinct trial = distinct_;
        if (!differs(text, trial)) clear_bit(different_, token);
    };
    const auto look_at = [&](const TextList& list) {
        for (size_t i = 0; i < list.size(); ++i) look(list.id(i), list.text(i));
    };
    // What does not go on as some item does begins a new one: with it all that begin like it.
    const auto look_at_repeats = [&](const TextList& list) {
        for (size_t i = 0; i < list.size();) {
            const std::string_view text = list.text(i);
            size_t same = 0;
            while (same < text.size() && distinct_.goes_on_with(text.substr(0, same + 1))) ++same;
            distinct_steps_ += 1 + same;
            if (same == text.size()) {
                look(list.id(i), text);
                ++i;
            } else {
                i = same == 0 ? list.after(uint8_t(text[0])) : list.skip(i, same);
            }
        }
    };
    look_at(texts_->special());
    if (recogniser_.room(state_) < texts_->most_characters()) {
        if (distinct_.within_item_string()) {
            look_at_repeats(texts_->plain());
        } else {
            look_at(texts_->plain());
        }
    }
    for (const Marks::Mark& mark : marks_.inside) look(mark.token, mark.bytes);
    steps_ = distinct_steps_ + kMaskSteps - recogniser_.steps_left();
    if (recogniser_.exhausted() || distinct_steps_ > kMaskSteps) {
        exhausted_ = true;
        std::ranges::fill(different_, 0u);
    }
    return different_;
}

Status Constraint::status() const {
    if (!exhausted_) return {};
    return fail(
        Code::limit,
        "the format takes more than {} steps to follow at one place: make its patterns and alternatives simpler",
        kMaskSteps);
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
        walk_plain(mask);
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
// text is refused, so are all that share the byte it was refused at, and once any text can follow, all can.
// Calls visit(from, to, allowed) for stretches of the list.
template <class Visit>
void Constraint::visit(const TextList& list, Visit visit) {
    const uint32_t free = texts_->most_characters();
    const bool plain = &list == &texts_->plain();
    std::array<Recogniser::State, TokenTexts::kMaxTokenBytes + 1> reached{};
    reached[0] = state_;
    size_t at = 0;
    while (at < list.size()) {
        const std::string_view text = list.text(at);
        size_t read = list.shared(at);
        Recogniser::State next = reached[read];
        while (read < text.size()) {
            next = recogniser_.next(reached[read], uint8_t(text[read]));
            if (next == Recogniser::kDead) break;
            reached[++read] = next;
            if (plain && recogniser_.room_within(next) >= free) break;
        }
        const bool allowed = next != Recogniser::kDead;
        if (allowed && (!plain || recogniser_.room_within(next) < free)) {
            visit(at, at + 1, true);
            ++at;
            continue;
        }
        const size_t shared = allowed ? read - 1 : read;
        const size_t end = shared == 0 ? list.after(uint8_t(text[0])) : list.skip(at, shared);
        visit(at, end, allowed);
        at = end;
    }
}

void Constraint::walk(const TextList& list, std::span<uint32_t> mask) {
    visit(list, [&](size_t from, size_t to, bool allowed) {
        for (size_t i = from; allowed && i < to; ++i) set_bit(mask, list.id(i));
    });
}

// Where most beginnings leave everything open, the rest is taken away from the set of all.
void Constraint::walk_plain(std::span<uint32_t> mask) {
    const TextList& plain = texts_->plain();
    size_t free = 0;
    size_t first = 0;
    for (uint32_t byte = 0; byte < 256; ++byte) {
        const size_t end = plain.after(uint8_t(byte));
        if (end == first) continue;
        const Recogniser::State next = recogniser_.next(state_, uint8_t(byte));
        if (next != Recogniser::kDead && recogniser_.room_within(next) >= texts_->most_characters())
            free += end - first;
        first = end;
    }
    if (free * 2 < plain.size()) {
        walk(plain, mask);
        return;
    }
    std::ranges::copy(texts_->plain_mask(), mask.begin());
    visit(plain, [&](size_t from, size_t to, bool allowed) {
        for (size_t i = from; !allowed && i < to; ++i) clear_bit(mask, plain.id(i));
    });
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
    recogniser_.allow(kMaskSteps);
    const Recogniser::State next = after(text);
    exhausted_ = exhausted_ || recogniser_.exhausted();
    if (next == Recogniser::kDead) return false;
    if (watches_) {
        Distinct read = distinct_;
        if (!differs(text, read)) return false;
        distinct_ = std::move(read);
        distinct_.settle();
    }
    state_ = next;
    return true;
}

}  // namespace lapidary::grammar
