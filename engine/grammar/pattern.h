// The useful part of regular expressions, for the keyword `pattern`.
//
// Literals, '.', classes, groups, alternatives, the quantifiers * + ? {m,n}, and ^ $ at the ends. Without ^ or $ the
// pattern may stand anywhere in the string, as JSON Schema says. Classes hold ASCII characters; negated ones also
// hold everything beyond ASCII.
#pragma once

#include <string_view>

#include "grammar/json_rules.h"

namespace lapidary::grammar {

inline constexpr size_t kMaxPatternBytes = 1024;

// A JSON string, quotes included, whose text matches.
Result<NodeId> pattern_string(ProgramBuilder& builder, JsonRules& rules, std::string_view pattern, NodeId next);

// The pattern of a format ("date-time", "uuid", …); empty when it is not one we know.
std::string_view format_pattern(std::string_view format);

}  // namespace lapidary::grammar
