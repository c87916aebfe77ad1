// A set of bytes.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace lapidary::grammar {

class ByteSet {
  public:
    constexpr ByteSet() = default;
    static constexpr ByteSet of(std::string_view bytes) {
        ByteSet set;
        for (const char byte : bytes) set.add(uint8_t(byte));
        return set;
    }
    static constexpr ByteSet range(uint8_t low, uint8_t high) {
        ByteSet set;
        for (uint32_t byte = low; byte <= high; ++byte) set.add(uint8_t(byte));
        return set;
    }

    constexpr void add(uint8_t byte) { words_[byte >> 6] |= uint64_t(1) << (byte & 63); }
    constexpr void remove(uint8_t byte) { words_[byte >> 6] &= ~(uint64_t(1) << (byte & 63)); }
    [[nodiscard]] constexpr bool has(uint8_t byte) const { return (words_[byte >> 6] >> (byte & 63) & 1) != 0; }
    [[nodiscard]] constexpr bool empty() const { return (words_[0] | words_[1] | words_[2] | words_[3]) == 0; }
    [[nodiscard]] constexpr bool meets(const ByteSet& other) const { return !(*this & other).empty(); }

    constexpr ByteSet operator|(const ByteSet& other) const {
        ByteSet out;
        for (size_t i = 0; i < 4; ++i) out.words_[i] = words_[i] | other.words_[i];
        return out;
    }
    constexpr ByteSet operator&(const ByteSet& other) const {
        ByteSet out;
        for (size_t i = 0; i < 4; ++i) out.words_[i] = words_[i] & other.words_[i];
        return out;
    }
    constexpr ByteSet without(const ByteSet& other) const {
        ByteSet out;
        for (size_t i = 0; i < 4; ++i) out.words_[i] = words_[i] & ~other.words_[i];
        return out;
    }
    constexpr bool operator==(const ByteSet&) const = default;

  private:
    std::array<uint64_t, 4> words_{};
};

inline constexpr ByteSet kDigits = ByteSet::range('0', '9');
// ASCII that stands for itself inside a JSON string.
inline constexpr ByteSet kPlainAscii = ByteSet::range(0x20, 0x7F).without(ByteSet::of("\"\\"));

}  // namespace lapidary::grammar
