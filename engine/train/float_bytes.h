// Numbers as the bytes they are in memory.
#pragma once

#include <cstdint>
#include <span>

namespace lapidary::train {

inline std::span<const uint8_t> bytes_of(std::span<const float> values) {
    return {reinterpret_cast<const uint8_t*>(values.data()), values.size_bytes()};
}

}  // namespace lapidary::train
