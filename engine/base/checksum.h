// Checksum: tells damaged or different bytes from the right ones. No defence against someone who means harm.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace lapidary {

// The same bytes in other pieces give the same sum as long as every piece but the last is a multiple of four bytes.
class Checksum {
  public:
    void add(std::span<const uint8_t> bytes) {
        size_t i = 0;
        for (; i + 4 <= bytes.size(); i += 4) {
            uint32_t word = 0;
            std::memcpy(&word, bytes.data() + i, 4);
            mix(word);
        }
        for (; i < bytes.size(); ++i) mix(bytes[i]);
    }
    void add(std::string_view text) {
        add(uint64_t{text.size()});
        add({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
    }
    void add(uint64_t number) {
        mix(uint32_t(number));
        mix(uint32_t(number >> 32));
    }
    [[nodiscard]] uint64_t value() const { return value_; }

  private:
    void mix(uint32_t word) {
        value_ = (value_ ^ word) * 0x9E3779B97F4A7C15u;
        value_ ^= value_ >> 32;
    }

    uint64_t value_ = 0x6C617069646172u;
};

}  // namespace lapidary
