#include "base/format.h"

#include <array>
#include <cstdio>

namespace lapidary {

void FormatArg::append_to(std::string& out) const {
    switch (kind_) {
        case Kind::text: out += text_; return;
        case Kind::integer: out += std::to_string(integer_); return;
        case Kind::natural: out += std::to_string(natural_); return;
        case Kind::real: {
            std::array<char, 32> digits{};
            std::snprintf(digits.data(), digits.size(), "%g", real_);
            out += digits.data();
            return;
        }
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
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), unit == 0 || value >= 100 ? "%.0f %s" : "%.1f %s", value, kUnits[unit]);
    return text.data();
}

std::string printable(std::string_view untrusted, size_t limit) {
    std::string out;
    const bool cut = untrusted.size() > limit;
    if (cut) {
        size_t end = limit;
        while (end > 0 && (uint8_t(untrusted[end]) & 0xC0) == 0x80) --end;
        untrusted = untrusted.substr(0, end);
    }
    for (const char c : untrusted) out += uint8_t(c) < 0x20 || c == 0x7F ? '?' : c;
    if (cut) out += "…";
    return out;
}

}  // namespace lapidary
