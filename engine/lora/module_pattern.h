// The keys of rank_pattern and alpha_pattern in adapter_config.json: regular expressions for names of modules.
#pragma once

#include <string_view>

#include "base/error.h"

namespace lapidary::lora {

// Whether the name is the pattern, or ends with a dot and the pattern; a pattern that begins with '^' describes the
// beginning of the name instead. Of regular expressions it knows characters, '.', escapes (\d \w \s, and of marks),
// classes, groups, '|', '*', '+', '?' and '$'; another one is refused, and so is one that takes too long.
Result<bool> matches_module(std::string_view pattern, std::string_view name);

}  // namespace lapidary::lora
