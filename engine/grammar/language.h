// Language: a set of texts that a machine without memory can tell (a regular language), as that machine.
//
// Patterns, formats, lengths and lists of names are all languages, so what must hold together is intersected, and what
// must not hold is subtracted. Characters are code points. Machines are made whole, within a budget of steps.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "grammar/budget.h"
#include "grammar/char_set.h"

namespace lapidary::grammar {

// A larger machine is refused.
inline constexpr size_t kMaxLanguageStates = 1 << 15;
inline constexpr uint32_t kEndless = ~0u;

class Language {
  public:
    using State = uint32_t;
    static constexpr State kLost = 0;  // no text that begins like this is in the language

    static Language anything();
    static Language nothing();
    // Texts of that many characters.
    static Result<Language> of_length(uint32_t min, uint32_t max, Budget& budget);
    static Result<Language> of_texts(std::vector<std::string> texts, Budget& budget);

    [[nodiscard]] Result<Language> both(const Language& other, Budget& budget) const;
    // The same; where that would take too many states, of the shorter texts only, and `whole` becomes false.
    [[nodiscard]] Result<Language> both_or_shorter(const Language& other, Budget& budget, bool& whole) const;
    [[nodiscard]] Result<Language> either(const Language& other, Budget& budget) const;
    [[nodiscard]] Result<Language> without(const Language& other, Budget& budget) const;
    [[nodiscard]] Result<Language> complement(Budget& budget) const { return anything().without(*this, budget); }

    [[nodiscard]] bool empty() const { return start_ == kLost; }
    [[nodiscard]] bool is_anything() const { return everything(start_); }
    [[nodiscard]] bool has(std::string_view text) const;

    // The machine. States are numbered from 1.
    [[nodiscard]] State start() const { return start_; }
    [[nodiscard]] size_t states() const { return accepts_.size(); }
    [[nodiscard]] bool accepts(State state) const { return accepts_[state] != 0; }
    // Whether every text that begins like this is in the language.
    [[nodiscard]] bool everything(State state) const { return state != kLost && state == everything_; }
    [[nodiscard]] uint32_t kinds() const { return kinds_; }
    [[nodiscard]] State next(State state, uint32_t kind) const { return next_[state * kinds_ + kind]; }
    // The characters of a kind: no transition tells them apart.
    [[nodiscard]] CharSet characters(uint32_t kind) const;

    // The shortest and the longest text, in characters; kEndless when there is no longest.
    struct Lengths {
        uint32_t least = 0;
        uint32_t most = 0;
    };
    [[nodiscard]] Lengths lengths() const;

    // Where kinds change: stretch i begins at `first` and ends before the next.
    struct Stretch {
        uint32_t first = 0;
        uint32_t kind = 0;
        auto operator<=>(const Stretch&) const = default;
    };

    // For those who make machines: `next` has kinds entries a state, state 0 is lost. Leaves out what leads nowhere.
    static Language made(std::vector<Stretch> stretches, uint32_t kinds, std::vector<State> next,
                         std::vector<uint8_t> accepts, State start);

  private:
    enum class Joined : uint8_t { both, either, without };
    [[nodiscard]] Result<Language> joined(const Language& other, Joined how, Budget& budget) const;
    [[nodiscard]] uint32_t kind_of(uint32_t character) const;

    std::vector<Stretch> stretches_;
    uint32_t kinds_ = 1;
    std::vector<State> next_;
    std::vector<uint8_t> accepts_;
    State start_ = kLost;
    State everything_ = kLost;  // the one state of this sort, if there is one
};

// Numbers the kinds of characters that none of the sets tells apart.
struct Kinds {
    std::vector<Language::Stretch> stretches;
    uint32_t count = 0;
    std::vector<std::vector<uint32_t>> of_set;  // the kinds each set consists of

    static Kinds of(std::span<const CharSet> sets);
};

}  // namespace lapidary::grammar
