// What the vocabularies of Gemma 3 hold besides words. Writers of files disagree about the types of these tokens, so their
// texts decide.
#pragma once

#include <string_view>

#include "tokenizer/token_kind.h"

namespace lapidary::tokenizer {

// One of the tokens that are text like any other, but never put together out of parts: a run of newlines, tabs or spaces
// (a file may write these as marks), one of the HTML tags, [multimodal].
bool is_whole_text(std::string_view text);

// The kind of a token of Gemma 3 that the file takes for one of kind `kind`.
TokenKind gemma3_kind(std::string_view text, TokenKind kind);

}  // namespace lapidary::tokenizer
