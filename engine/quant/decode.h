// From the blocks of a file to floats, bit for bit what the formats' reference implementation gives.
#pragma once

#include <cstdint>
#include <span>

#include "base/tensor_type.h"

namespace lapidary::quant {

// Fills `out`, whose length is a multiple of the type's block; `blocks` holds row_bytes(type, out.size()) bytes,
// at any alignment. Any bytes decode to something: a scale that is NaN or infinite gives such values.
void decode(TensorType type, const uint8_t* blocks, std::span<float> out);

// The same for a caller who has not checked the sizes.
Status decode_checked(TensorType type, std::span<const uint8_t> blocks, std::span<float> out);

}  // namespace lapidary::quant
