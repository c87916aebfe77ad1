// Regular expressions, for the keyword `pattern`, as languages.
//
// As JSON Schema means them: ECMAScript's, by code points, anywhere in the text unless ^ and $ say otherwise. What a
// machine without memory cannot follow is refused: back references, looking behind, and looking ahead inside an endless repetition.
#pragma once

#include <string_view>

#include "grammar/language.h"

namespace lapidary::grammar {

inline constexpr size_t kMaxPatternBytes = 4096;

struct Pattern {
    Language language;
    // False when texts were left out: what is not in the language may match all the same.
    bool exact = true;
};

Result<Pattern> read_pattern(std::string_view pattern, Budget& budget);

}  // namespace lapidary::grammar
