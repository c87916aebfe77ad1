// A set of characters, by their code points.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <vector>

namespace lapidary::grammar {

inline constexpr uint32_t kLastCharacter = 0x10FFFF;

class CharSet {
  public:
    struct Range {
        uint32_t first = 0;
        uint32_t last = 0;
        auto operator<=>(const Range&) const = default;
    };

    CharSet() = default;
    CharSet(std::initializer_list<Range> ranges) {
        for (const Range& range : ranges) add(range.first, range.last);
    }
    static CharSet all() { return {{0, kLastCharacter}}; }
    static CharSet of(std::string_view ascii);

    void add(uint32_t first, uint32_t last);
    void add(const CharSet& other);

    [[nodiscard]] CharSet without(const CharSet& other) const;
    [[nodiscard]] CharSet complement() const;
    [[nodiscard]] bool has(uint32_t character) const;
    [[nodiscard]] bool holds(const CharSet& other) const { return other.without(*this).empty(); }
    [[nodiscard]] bool empty() const { return ranges_.empty(); }
    // Sorted, with gaps between them.
    [[nodiscard]] const std::vector<Range>& ranges() const { return ranges_; }
    auto operator<=>(const CharSet&) const = default;

  private:
    std::vector<Range> ranges_;
};

// The code points of a text; bytes that are not UTF-8 count as U+FFFD.
std::vector<uint32_t> characters_of(std::string_view text);

}  // namespace lapidary::grammar
