// What is a character and what is not, in text from outside.
#pragma once

#include <cstddef>
#include <string_view>

namespace lapidary {

// Bytes of the UTF-8 character the text begins with; 0 when it begins with none.
size_t valid_character(std::string_view text);

}  // namespace lapidary
