// A conversation as tokens that fit into a context.
#pragma once

#include <string_view>
#include <vector>

#include "api/prompt_media.h"
#include "chat/render.h"
#include "tokenizer/tokenizer.h"

namespace lapidary::api {

// What happens when a prompt does not fit into the context.
enum class Overflow : uint8_t {
    error,  // it is refused
    stop,   // the answer is empty, and ends for its length
    slide,  // the oldest turns of a conversation are left out
};
Result<Overflow> overflow_from(std::string_view name);

struct ChatPrompt {
    infer::Prompt prompt;
    chat::PromptEnd end = chat::PromptEnd::answer;
    uint32_t dropped_messages = 0;
};

// Without a limit. `media`: what the parts of messages that are no text stand for; without it there may be none.
Result<ChatPrompt> chat_prompt(const tokenizer::Tokenizer& tokenizer, const chat::Conversation& conversation,
                               const chat::RenderOptions& options, const FindMedia& media = nullptr);

// With as few of the oldest turns left out as it takes to have at most `limit` tokens. A turn is what lies between two
// messages of the user, so calls stay with their results; system messages and the last turn always stay, even
// if the result is longer than the limit.
Result<ChatPrompt> sliding_chat_prompt(const tokenizer::Tokenizer& tokenizer, const chat::Conversation& conversation,
                                       const chat::RenderOptions& options, size_t limit,
                                       const FindMedia& media = nullptr);

}  // namespace lapidary::api
