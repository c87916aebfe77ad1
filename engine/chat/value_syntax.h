// How values are written inside declarations, calls and responses: a JSON without spaces in which strings stand
// between <|"|> tokens and need no escapes.
#pragma once

#include <utility>
#include <vector>

#include "chat/json.h"
#include "chat/pieces.h"

namespace lapidary::chat {

// Keys are bare in calls and responses, quoted in schemas.
enum class KeyStyle : uint8_t { bare, quoted };

void write_value(PieceWriter& out, const Json& value, KeyStyle keys);

// The members of an object without the braces around them: "a:1,b:2".
void write_members(PieceWriter& out, const Json& object, KeyStyle keys);

void write_string(PieceWriter& out, std::string_view text);

// The members of an object in the order of the prompt: by key, letter case ignored.
std::vector<std::pair<std::string_view, const Json*>> sorted_members(const Json& object);

}  // namespace lapidary::chat
