// Names of members that are none of those declared.
#pragma once

#include <string>
#include <vector>

#include "grammar/json_rules.h"

namespace lapidary::grammar {

inline constexpr size_t kMaxNameBytes = 512;

// A string, quotes included, that differs from all `names`, then next. Where there are any names, it has no escapes,
// so that none of them can be spelled in another way.
NodeId other_name(ProgramBuilder& builder, JsonRules& rules, const std::vector<std::string>& names, NodeId next);

}  // namespace lapidary::grammar
