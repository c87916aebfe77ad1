// Reading a call the model wrote: call:NAME{key:value,…}
//
// Models do not always write what they were taught, so the reader is lenient where the meaning is plain: strings in
// double or single quotes, quoted keys, Python's None, a comma too many. Mistakes of structure (a brace or a string
// that is never closed, a value without quotes) are repaired only in calls the model has finished, never in
// one that was cut off: half a path is not a path.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "chat/message.h"

namespace lapidary::chat {

inline constexpr size_t kMaxCallBytes = size_t{4} << 20;
inline constexpr std::string_view kCallPrefix = "call:";
inline constexpr size_t kMaxCallDepth = 56;  // less than JSON may nest, so that the call can come back in a message

// A number, true, false or null, as JSON or Python writes it, in JSON's words. Empty: it is none.
std::string bare_text(std::string_view word);

// Whether the schema of the arguments says that this one is a text.
bool is_text(const Json& properties, const std::string& key);

constexpr bool is_closer(char c) {
    return c == '}' || c == ']';
}

struct ParsedCall {
    std::string name;
    Json arguments = Json::object();
    bool repaired = false;  // the structure was mended; worth a line in a log
};

struct CallOptions {
    bool finished = true;         // the model closed the call; structural repairs are allowed
    std::span<const Tool> tools;  // their schemas tell which values are meant as strings
};

// The text between <|tool_call> and <tool_call|>, with <|"|> spelled out.
Result<ParsedCall> parse_call(std::string_view text, const CallOptions& options);

// The same when it is known which of the <|"|> are real tokens: `quotes` has their offsets in `text`, ascending.
Result<ParsedCall> parse_call(std::string_view text, std::span<const size_t> quotes, const CallOptions& options);

}  // namespace lapidary::chat
