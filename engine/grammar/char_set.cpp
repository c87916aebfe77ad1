#include "grammar/char_set.h"

#include <algorithm>

namespace lapidary::grammar {

CharSet CharSet::of(std::string_view ascii) {
    CharSet out;
    for (const char c : ascii) out.add(uint8_t(c), uint8_t(c));
    return out;
}

void CharSet::add(uint32_t first, uint32_t last) {
    // Everything that overlaps or touches becomes one range.
    auto from = std::ranges::lower_bound(ranges_, first == 0 ? 0 : first - 1, {}, &Range::last);
    auto to = from;
    while (to != ranges_.end() && to->first <= last + 1) {
        first = std::min(first, to->first);
        last = std::max(last, to->last);
        ++to;
    }
    from = ranges_.erase(from, to);
    ranges_.insert(from, {first, last});
}

void CharSet::add(const CharSet& other) {
    for (const Range& range : other.ranges_) add(range.first, range.last);
}

CharSet CharSet::complement() const {
    CharSet out;
    uint32_t next = 0;
    for (const Range& range : ranges_) {
        if (range.first > next) out.ranges_.push_back({next, range.first - 1});
        next = range.last + 1;
    }
    if (next <= kLastCharacter) out.ranges_.push_back({next, kLastCharacter});
    return out;
}

CharSet CharSet::without(const CharSet& other) const {
    CharSet out;
    auto cut = other.ranges_.begin();
    for (const Range& range : ranges_) {
        uint32_t next = range.first;
        while (cut != other.ranges_.end() && cut->last < next) ++cut;
        for (auto at = cut; at != other.ranges_.end() && at->first <= range.last; ++at) {
            if (at->first > next) out.ranges_.push_back({next, at->first - 1});
            next = at->last + 1;
        }
        if (next <= range.last) out.ranges_.push_back({next, range.last});
    }
    return out;
}

bool CharSet::has(uint32_t character) const {
    const auto found = std::ranges::lower_bound(ranges_, character, {}, &Range::last);
    return found != ranges_.end() && found->first <= character;
}

std::vector<uint32_t> characters_of(std::string_view text) {
    std::vector<uint32_t> out;
    for (size_t at = 0; at < text.size();) {
        const auto byte = uint8_t(text[at]);
        const size_t size = byte < 0x80 ? 1 : byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : byte >= 0xC2 ? 2 : 0;
        uint32_t character = size == 1 ? byte : size == 2 ? byte & 0x1F : size == 3 ? byte & 0x0F : byte & 0x07;
        bool whole = size > 0 && at + size <= text.size();
        for (size_t i = 1; whole && i < size; ++i) {
            whole = (uint8_t(text[at + i]) & 0xC0) == 0x80;
            character = character << 6 | (uint8_t(text[at + i]) & 0x3F);
        }
        out.push_back(whole && character <= kLastCharacter ? character : 0xFFFD);
        at += whole ? size : 1;
    }
    return out;
}

}  // namespace lapidary::grammar
