// HashIndex: from a hash to the numbers of things stored elsewhere, four bytes a slot.
//
// Half of the slots stay empty. A slot holds a number and ten bits of the hash, so that a search looks at the
// thing itself (a text in the file, a merge) almost only when it is the right one.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

namespace lapidary::tokenizer {

class HashIndex {
  public:
    static constexpr uint32_t kNone = 0xFFFFFFFFu;
    static constexpr uint32_t kMaxNumber = (1u << 22) - 2;

    HashIndex() : HashIndex(0) {}
    // For at most `capacity` things; it does not grow.
    explicit HashIndex(size_t capacity)
        : shift_(uint32_t(64 - std::countr_zero(std::bit_ceil(capacity * 2 + 2)))),
          slots_(std::bit_ceil(capacity * 2 + 2)) {}

    // The number stored for `hash` for which same(number) holds, or kNone.
    template <class Same>
    [[nodiscard]] uint32_t find(uint64_t hash, Same&& same) const {
        const uint32_t tag = tag_of(hash);
        size_t at = size_t(hash >> shift_);
        for (uint32_t probe = 0; probe < kMaxProbes; ++probe) {
            const uint32_t slot = slots_[at];
            if (slot == 0) return kNone;
            if ((slot >> kNumberBits) == tag && same((slot & kNumberMask) - 1)) return (slot & kNumberMask) - 1;
            at = (at + 1) & (slots_.size() - 1);
        }
        return kNone;
    }

    // The number stored for `hash` for which same(number) holds; when there is none, `number`, stored from now
    // on. kNone when so many hashes fall together that searching would become slow: that does not happen by
    // chance, only in a file made for it.
    template <class Same>
    [[nodiscard]] uint32_t find_or_add(uint64_t hash, uint32_t number, Same&& same) {
        const uint32_t tag = tag_of(hash);
        size_t at = size_t(hash >> shift_);
        for (uint32_t probe = 0; probe < kMaxProbes; ++probe) {
            const uint32_t slot = slots_[at];
            if (slot == 0) {
                slots_[at] = (tag << kNumberBits) | (number + 1);
                return number;
            }
            if ((slot >> kNumberBits) == tag && same((slot & kNumberMask) - 1)) return (slot & kNumberMask) - 1;
            at = (at + 1) & (slots_.size() - 1);
        }
        return kNone;
    }

    [[nodiscard]] size_t memory() const { return slots_.size() * sizeof(uint32_t); }

  private:
    static constexpr uint32_t kNumberBits = 22;
    static constexpr uint32_t kNumberMask = (1u << kNumberBits) - 1;
    // With half of the slots empty the longest walk among a million entries is about 70.
    static constexpr uint32_t kMaxProbes = 1024;

    // The slot is chosen by the top bits; these lie below them for any table we build.
    static uint32_t tag_of(uint64_t hash) { return uint32_t(hash >> 24) & 1023; }

    uint32_t shift_;
    std::vector<uint32_t> slots_;
};

// Mixes until every bit of `value` has had a say in the top bits of the result.
inline uint64_t mix(uint64_t value) {
    value *= 0x9E3779B97F4A7C15u;
    value ^= value >> 32;
    value *= 0xD6E8FEB86659FD93u;
    return value ^ (value >> 32);
}

inline uint64_t hash_text(std::string_view text) {
    const auto word = [](const char* at, auto value) {
        std::memcpy(&value, at, sizeof(value));
        return uint64_t(value);
    };
    const char* at = text.data();
    size_t left = text.size();
    uint64_t hash = left * 0xA0761D6478BD642Fu;
    for (; left > 8; left -= 8, at += 8) hash = mix(hash ^ word(at, uint64_t()));
    // One to eight bytes are left (or the text is empty): two loads that overlap take them all.
    if (left >= 4) return mix(hash ^ (word(at, uint32_t()) << 32 | word(at + left - 4, uint32_t())));
    if (left >= 2) return mix(hash ^ (word(at, uint16_t()) << 16 | word(at + left - 2, uint16_t())));
    return mix(hash ^ (left == 1 ? uint8_t(*at) : 0));
}

}  // namespace lapidary::tokenizer
