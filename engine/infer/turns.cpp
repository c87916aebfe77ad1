#include "infer/turns.h"

#include "base/edition.h"
#include "chat/markers.h"

namespace lapidary::infer {

chat::Turns turns_of(const tokenizer::Tokenizer& tokenizer) {
    if (!has_everything() || tokenizer.scheme() != tokenizer::Scheme::scores) return chat::Turns::gemma4;
    return tokenizer.find(chat::kFunctionCallOpen) ? chat::Turns::function_gemma : chat::Turns::gemma3;
}

std::optional<int32_t> find_marker(const tokenizer::Tokenizer& tokenizer, std::string_view marker) {
    if (has_everything() && turns_of(tokenizer) == chat::Turns::function_gemma) {
        marker = chat::as_function_marker(marker);
    }
    return tokenizer.find(marker);
}

}  // namespace lapidary::infer
