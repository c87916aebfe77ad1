#include "chat/text.h"

#include <cstdint>

namespace lapidary::chat {
namespace {

constexpr size_t kLongestToolName = 256;

bool is_space(uint32_t point) {
    return (point >= 0x09 && point <= 0x0D) || (point >= 0x1C && point <= 0x20) || point == 0x85 || point == 0xA0 ||
           point == 0x1680 || (point >= 0x2000 && point <= 0x200A) || point == 0x2028 || point == 0x2029 ||
           point == 0x202F || point == 0x205F || point == 0x3000;
}

// Bytes of the white space character that starts at `at`, 0 if there is none. No white space needs four bytes.
size_t space_at(std::string_view text, size_t at) {
    const auto byte = [&](size_t i) -> uint32_t { return at + i < text.size() ? uint8_t(text[at + i]) : 0; };
    const auto follows = [&](size_t i) { return (byte(i) & 0xC0) == 0x80; };
    if (byte(0) < 0x80) return is_space(byte(0)) ? 1 : 0;
    if ((byte(0) & 0xE0) == 0xC0 && follows(1)) return is_space((byte(0) & 0x1F) << 6 | (byte(1) & 0x3F)) ? 2 : 0;
    if ((byte(0) & 0xF0) == 0xE0 && follows(1) && follows(2)) {
        return is_space((byte(0) & 0x0F) << 12 | (byte(1) & 0x3F) << 6 | (byte(2) & 0x3F)) ? 3 : 0;
    }
    return 0;
}

}  // namespace

std::string_view trim(std::string_view text) {
    while (!text.empty()) {
        const size_t width = space_at(text, 0);
        if (width == 0) break;
        text.remove_prefix(width);
    }
    while (!text.empty()) {
        size_t start = text.size() - 1;
        while (start > 0 && text.size() - start < 3 && (uint8_t(text[start]) & 0xC0) == 0x80) --start;
        if (space_at(text, start) != text.size() - start) break;
        text.remove_suffix(text.size() - start);
    }
    return text;
}

std::string ascii_upper(std::string_view text) {
    std::string out(text);
    for (char& c : out) c = c >= 'a' && c <= 'z' ? char(c - 'a' + 'A') : c;
    return out;
}

std::string ascii_lower(std::string_view text) {
    std::string out(text);
    for (char& c : out) c = c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c;
    return out;
}

bool is_tool_name(std::string_view name) {
    if (name.empty() || name.size() > kLongestToolName) return false;
    for (const char c : name) {
        if (uint8_t(c) <= 0x20 || c == 0x7F || std::string_view("{}[]<>\"',").contains(c)) return false;
    }
    return true;
}

std::string clock_text(uint64_t seconds) {
    const auto two = [](uint64_t n) { return (n < 10 ? "0" : "") + std::to_string(n); };
    return two(seconds / 60) + ":" + two(seconds % 60);
}

}  // namespace lapidary::chat
