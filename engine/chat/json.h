// JSON as the chat room uses it: objects keep the order of their members, and text from outside is bounded
// before it is parsed.
//
// nlohmann/json is built without exceptions, so a wrong access ends the program: check the type first.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/error.h"

namespace lapidary::chat {

using Json = nlohmann::ordered_json;

inline constexpr size_t kMaxJsonBytes = size_t{16} << 20;
inline constexpr size_t kMaxJsonDepth = 64;
// Members of one object. Looking one up is linear, so this also bounds the time an object takes to build.
inline constexpr size_t kMaxJsonMembers = 1024;

// `what` names the text in the sentence of an error: "messages[1].tool_calls[0].function.arguments".
Result<Json> parse_json(std::string_view text, std::string_view what);

// For values that were not made by parse_json: the same bounds on depth and members.
Status check_bounds(const Json& value, std::string_view what);

// The member `key` if `value` is an object that has one; else a null value. Never fails.
const Json& member(const Json& value, const char* key);

// The string inside, or an empty one if `value` is something else.
std::string_view string_of(const Json& value);

// Compact JSON text. Bytes that are not UTF-8 become U+FFFD.
std::string json_text(const Json& value);

// A number as Python prints it: integers as they are, others with the fewest digits that read back the same.
std::string number_text(const Json& number);

}  // namespace lapidary::chat
