// Tensors of noise, made block by block without an encoder: for models of which only the sizes matter.
#pragma once

#include <cstdint>
#include <span>

#include "base/tensor_type.h"

namespace lapidary::quant {

struct Noise {
    uint64_t seed = 0;
    float deviation = 1;  // standard deviation of the decoded values, whose mean is 0
};

// Writes the blocks from `first_block` on of an endless tensor of noise; `out` holds whole blocks of the type, which
// can be encoded (see encode.h). Every block depends on the seed and its own position only, so a tensor can be made
// in pieces of any size. Integers are spread evenly and scales vary a little from block to block; floats fall in the
// shape of a bell that ends at 3.5 deviations. A tensor of more than 4 billion words repeats itself.
void fill_noise(TensorType type, const Noise& noise, uint64_t first_block, std::span<uint8_t> out);

}  // namespace lapidary::quant
