// The few string operations of the chat template, with the meaning they have there (Python's).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace lapidary::chat {

// Without white space at both ends. White space is what Unicode calls so (a no-break or an ideographic space too).
std::string_view trim(std::string_view text);

// Letters of ASCII only: the words these are used on (type names, the order of keys) are ASCII in practice.
std::string ascii_upper(std::string_view text);
std::string ascii_lower(std::string_view text);

// Space, tab, carriage return or newline: white space in JSON and in tool calls.
constexpr bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

// "62:05": how the frames of a video are timed in a prompt. Minutes go on beyond 60.
std::string clock_text(uint64_t seconds);

// Whether `name` can stand in "call:NAME{" without changing what the text around it means.
bool is_tool_name(std::string_view name);

}  // namespace lapidary::chat
