// Which conversation a vocabulary was made for.
#pragma once

#include <optional>

#include "chat/render.h"
#include "tokenizer/tokenizer.h"

namespace lapidary::infer {

chat::Turns turns_of(const tokenizer::Tokenizer& tokenizer);

// The token of a marker of Gemma 4, or of what another model writes instead.
std::optional<int32_t> find_marker(const tokenizer::Tokenizer& tokenizer, std::string_view marker);

}  // namespace lapidary::infer
