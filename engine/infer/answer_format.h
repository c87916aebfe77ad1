// AnswerFormat: which tokens an answer may be made of when its content, or its calls, must have a given form.
//
// The form applies where it is meant:
//   thoughts  are free. They may come first, once, if thinking was asked for, and must be closed before a turn can end.
//   content   follows the grammar from its first byte on, and the turn can end exactly when it is complete.
//   calls     take the place of content. They are free, unless one is demanded: then there is nothing but thoughts
//             and calls, and the calls follow a grammar of their own. After a call comes another, or the end.
#pragma once

#include <memory>
#include <optional>

#include "chat/render.h"
#include "grammar/constraint.h"
#include "sample/sampler.h"

namespace lapidary::infer {

struct AnswerFormatOptions {
    std::shared_ptr<const grammar::Program> content;  // null: free
    std::shared_ptr<const grammar::Program> call;     // null: free
    enum class Calls : uint8_t { forbidden, possible, required } calls = Calls::forbidden;
    bool thoughts = false;  // may be opened
    chat::PromptEnd start = chat::PromptEnd::answer;
};

class AnswerFormat {
  public:
    AnswerFormat(const tokenizer::Tokenizer& tokenizer, std::shared_ptr<const grammar::TokenTexts> texts,
                 AnswerFormatOptions options);

    // Valid until the next call of anything here. Empty: all tokens are.
    sample::Allowed allowed();
    // An error when the format takes too many steps to follow; nothing is allowed then.
    [[nodiscard]] Status status() const;
    // A token of the answer; an error when it should not have been chosen.
    Status accept(int32_t token);

  private:
    enum class Phase : uint8_t { thought, start, content, call, after_call };
    using Calls = AnswerFormatOptions::Calls;

    void put(std::optional<int32_t> token);

    AnswerFormatOptions options_;
    std::shared_ptr<const grammar::TokenTexts> texts_;
    std::optional<int32_t> channel_open_, channel_close_, call_open_, call_close_;
    std::vector<int32_t> ends_;  // all of them
    std::optional<grammar::Constraint> content_;
    std::optional<grammar::Constraint> call_;
    Phase phase_ = Phase::start;
    bool thought_ = false;  // one was opened
    grammar::TokenMask mask_;
};

}  // namespace lapidary::infer
