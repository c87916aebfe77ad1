// Constraint: which tokens may come next, so that an answer becomes what a Program accepts.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "grammar/distinct.h"
#include "grammar/recogniser.h"
#include "grammar/token_texts.h"

namespace lapidary::grammar {

// Marker tokens that count as bytes of the text, and those that end it. By default there are no marks, and the text
// ends with the answer.
struct Marks {
    struct Mark {
        int32_t token = 0;
        std::string bytes;
    };
    std::vector<Mark> inside;
    std::vector<int32_t> ends;
};

class Constraint {
  public:
    Constraint(std::shared_ptr<const Program> program, const std::shared_ptr<const TokenTexts>& texts);
    Constraint(std::shared_ptr<const Program> program, std::shared_ptr<const TokenTexts> texts, Marks marks);

    // The tokens after which the text can still become complete; those that end the answer exactly when it is
    // complete. Never empty. Valid until the next call of anything here.
    std::span<const uint32_t> allowed();
    // A token of the answer. False, and nothing changes, when it is not allowed.
    bool accept(int32_t token);
    void restart();

    // An error when the schema takes more steps than one mask may: nothing is allowed then.
    [[nodiscard]] Status status() const;
    [[nodiscard]] bool complete() const { return recogniser_.complete(state_); }
    // Tokens and text belong to the same vocabulary.
    [[nodiscard]] const TokenTexts& texts() const { return *texts_; }
    // What the last mask took, and what is remembered: for tests.
    [[nodiscard]] uint64_t steps() const { return steps_; }
    [[nodiscard]] size_t known_states() const { return recogniser_.size(); }
    [[nodiscard]] size_t known_masks() const { return masks_.size(); }

  private:
    void tidy();
    TokenMask make_mask();
    [[nodiscard]] std::string text_of(int32_t token) const;
    [[nodiscard]] Recogniser::State after(std::string_view text);
    bool differs(std::string_view text, Distinct& distinct);
    std::span<const uint32_t> without_repeats(const TokenMask& mask);
    void walk(const TextList& list, std::span<uint32_t> mask);
    void walk_plain(std::span<uint32_t> mask);
    template <class Visit>
    void visit(const TextList& list, Visit visit);

    std::shared_ptr<const TokenTexts> texts_;
    Marks marks_;
    Recogniser recogniser_;
    Recogniser::State state_;
    bool exhausted_ = false;
    uint64_t steps_ = 0;
    std::unordered_map<Recogniser::State, TokenMask> masks_;
    bool watches_ = false;  // some array's items must differ
    Distinct distinct_;
    uint64_t distinct_steps_ = 0;  // of looking for repeated items
    TokenMask different_;
};

}  // namespace lapidary::grammar
