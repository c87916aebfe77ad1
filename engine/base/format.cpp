#include "base/format.h"

#include <array>
#include <cmath>

#include "base/decimal.h"
#include "base/utf8.h"

namespace lapidary {

size_t valid_character(std::string_view text) {
    const auto byte = [&](size_t i) { return i < text.size() ? uint8_t(text[i]) : uint8_t{0}; };
    const uint8_t first = byte(0);
    if (first < 0x80) return 1;
    const size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
    if (first < 0xC2 || first > 0xF4) return 0;
    for (size_t i = 1; i < length; ++i) {
        if ((byte(i) & 0xC0) != 0x80) return 0;
    }
    const bool overlong = (first == 0xE0 && byte(1) < 0xA0) || (first == 0xF0 && byte(1) < 0x90);
    const bool beyond = (first == 0xED && byte(1) > 0x9F) || (first == 0xF4 && byte(1) > 0x8F);
    return overlong || beyond ? 0 : length;
}

void FormatArg::append_to(std::string& out) const {
    switch (kind_) {
        case Kind::text: out += text_; return;
        case Kind::integer: out += std::to_string(integer_); return;
        case Kind::natural: out += std::to_string(natural_); return;
        case Kind::real: out += real_text(real_); return;
    }
}

std::string format_args(std::string_view pattern, const FormatArg* args) {
    std::string out;
    out.reserve(pattern.size() + 32);
    for (size_t i = 0; i < pattern.size(); ++i) {
        if (pattern[i] == '{' && i + 1 < pattern.size() && pattern[i + 1] == '}') {
            (args++)->append_to(out);
            ++i;
        } else {
            out += pattern[i];
        }
    }
    return out;
}

std::string format_bytes(uint64_t bytes) {
    constexpr std::array<const char*, 5> kUnits = {"bytes", "KiB", "MiB", "GiB", "TiB"};
    auto value = double(bytes);
    size_t unit = 0;
    while (value >= 1024 && unit + 1 < kUnits.size()) {
        value /= 1024;
        ++unit;
    }
    const bool whole = unit == 0 || value >= 100;
    const auto tenths = uint64_t(std::llround(value * 10));
    const std::string number =
        whole ? std::to_string(std::llround(value)) : std::to_string(tenths / 10) + "." + std::to_string(tenths % 10);
    return number + " " + kUnits[unit];
}

std::string printable(std::string_view untrusted, size_t limit) {
    std::string out;
    const bool cut = untrusted.size() > limit;
    if (cut) {
        size_t end = limit;
        while (end > 0 && (uint8_t(untrusted[end]) & 0xC0) == 0x80) --end;
        untrusted = untrusted.substr(0, end);
    }
    for (size_t i = 0; i < untrusted.size();) {
        const size_t length = valid_character(untrusted.substr(i));
        const bool shown = length > 1 || (length == 1 && uint8_t(untrusted[i]) >= 0x20 && untrusted[i] != 0x7F);
        out += shown ? untrusted.substr(i, length) : "?";
        i += shown ? length : 1;
    }
    if (cut) out += "…";
    return out;
}

}  // namespace lapidary
