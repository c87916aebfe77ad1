#include "tokenizer/bpe.h"

#include <algorithm>

namespace lapidary::tokenizer {

// Lines and the newlines between them are encoded apart: no merge joins the two. A run of newlines that is a token is one.
void Bpe::encode(std::string_view text, std::vector<int32_t>& out) {
    while (!text.empty()) {
        const bool newlines = text[0] == '\n';
        const size_t end = std::min(text.size(), newlines ? text.find_first_not_of('\n') : text.find('\n'));
        const std::string_view run = text.substr(0, end);
        text.remove_prefix(end);
        if (!newlines) {
            joiner_.encode(run, out);
        } else if (const auto id = vocabulary_.find(run)) {
            out.push_back(int32_t(*id));
        } else {
            joiner_.join_word(run, out);
        }
    }
}

}  // namespace lapidary::tokenizer
