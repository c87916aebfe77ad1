// Text as the tokenizer sees it: characters are taken by the length their first byte announces, valid or not.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace lapidary::tokenizer {

// Vocabularies write a space as U+2581, so that a literal space can separate the two halves of a merge.
inline constexpr std::string_view kSpaceMark = "\xE2\x96\x81";

// Bytes of the first character of a text that is not empty. A sequence the text cuts short is what is left of it.
inline size_t first_character(std::string_view text) {
    constexpr std::array<uint8_t, 16> kLengthByHighNibble = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 3, 4};
    const size_t length = kLengthByHighNibble[uint8_t(text[0]) >> 4];
    return length < text.size() ? length : text.size();
}

// Replaces the space mark by the space it stands for.
template <class String>
void append_with_spaces(std::string_view text, String& out) {
    while (true) {
        const size_t mark = text.find(kSpaceMark);
        out.append(text.substr(0, mark));
        if (mark == std::string_view::npos) return;
        out.push_back(' ');
        text.remove_prefix(mark + kSpaceMark.size());
    }
}

}  // namespace lapidary::tokenizer
