// The eight 6-bit scales and minima that Q4_K and Q5_K pack into twelve bytes.
//
// Sub-blocks 0 … 3 have theirs in the low six bits of bytes 0 … 3 (scale) and 4 … 7 (minimum). Those of 4 … 7 are
// split: low nibbles in bytes 8 … 11 (scale low, minimum high), upper two bits on top of the bytes before.
#pragma once

#include <cstdint>

namespace lapidary::quant {

struct KScales {
    uint8_t scale[8];
    uint8_t min[8];
};

inline KScales unpack_k_scales(const uint8_t* packed) {
    KScales result;
    for (int j = 0; j < 4; ++j) {
        result.scale[j] = packed[j] & 63;
        result.min[j] = packed[j + 4] & 63;
        result.scale[j + 4] = uint8_t((packed[j + 8] & 15) | (packed[j] >> 6) << 4);
        result.min[j + 4] = uint8_t(packed[j + 8] >> 4 | (packed[j + 4] >> 6) << 4);
    }
    return result;
}

// Every value is below 64.
inline void pack_k_scales(const KScales& from, uint8_t* packed) {
    for (int j = 0; j < 4; ++j) {
        packed[j] = uint8_t(from.scale[j] | (from.scale[j + 4] >> 4) << 6);
        packed[j + 4] = uint8_t(from.min[j] | (from.min[j + 4] >> 4) << 6);
        packed[j + 8] = uint8_t((from.scale[j + 4] & 15) | (from.min[j + 4] & 15) << 4);
    }
}

}  // namespace lapidary::quant
