// The formats of texts, for the keyword `format`.
#pragma once

#include <string_view>

namespace lapidary::grammar {

struct TextFormat {
    std::string_view name;
    std::string_view inner;  // a pattern: what matches is of the format. There may be more, which is not written
    std::string_view outer;  // a pattern: what is of the format matches it
};

// Null when it is not one we know: then it says something about a text without limiting it.
const TextFormat* find_text_format(std::string_view name);

}  // namespace lapidary::grammar
