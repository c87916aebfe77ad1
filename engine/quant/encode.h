// From floats to the blocks of a file. Deterministic: the same floats give the same bytes on every machine.
#pragma once

#include <cstdint>
#include <span>

#include "base/tensor_type.h"

namespace lapidary::quant {

// F32, F16, BF16, Q8_0, Q4_0, Q5_0, Q4_K and Q6_K.
bool can_encode(TensorType type);

// Writes row_bytes(type, values.size()) bytes. The type can be encoded, and the length is a multiple of its block.
//
// F32, F16 and BF16 keep NaN and infinities. The block types have nowhere to put them: there NaN counts as 0, and
// what is beyond the reach of the type's f16 scale (at least ±500 000) as the largest value within it, so that a
// block always decodes to finite numbers and one broken element does not take its neighbours with it.
void encode(TensorType type, std::span<const float> values, uint8_t* out);

// The same for a caller who has not checked type and sizes.
Status encode_checked(TensorType type, std::span<const float> values, std::span<uint8_t> out);

}  // namespace lapidary::quant
