// The prompt of Gemma 3: turns of the user and of the model, the system's words at the head of the user's, and tools that
// are explained rather than trained.
#pragma once

#include <span>

#include "chat/message.h"
#include "chat/render.h"

namespace lapidary::chat {

Result<Prompt> render_gemma3(const Conversation& conversation, const RenderOptions& options);

// How a call is written: {"name": …, "parameters": {…}}, or a list of these. The schema of one, for tools the model must
// choose from.
Json prompted_call_schema(std::span<const Tool> tools);

// The calls an answer consists of, if it is nothing but calls of these tools: one or a list, bare or in a fence of code.
std::vector<ToolCall> prompted_calls(std::string_view answer, std::span<const Tool> tools);

// Whether an answer that begins like this may still become calls.
bool may_be_prompted_calls(std::string_view begun);

}  // namespace lapidary::chat
