// Random weights of every type: as the file would have them, packed as for the GPU, and as numbers.
#pragma once

#include <array>
#include <vector>

#include "kernels/check/random.h"
#include "kernels/weight_format.h"

namespace lapidary::kernels::check {

// One for each format of the GPU; Q5_1 stands for those that become i8.
inline constexpr std::array<TensorType, 9> kOneOfEachFormat = {TensorType::q4_k, TensorType::q5_k, TensorType::q6_k,
                                                               TensorType::q4_0, TensorType::q8_0, TensorType::q5_1,
                                                               TensorType::f16,  TensorType::bf16, TensorType::f32};

// The others, which become i8 as well.
inline constexpr std::array<TensorType, 7> kOthers = {TensorType::q4_1, TensorType::q5_0,   TensorType::q2_k,
                                                      TensorType::q3_k, TensorType::iq4_nl, TensorType::iq4_xs,
                                                      TensorType::mxfp4};

struct RandomWeights {
    std::vector<uint8_t> packed;
    std::vector<float> values;  // [rows, cols]
};

RandomWeights random_weights(Random& random, TensorType type, uint64_t rows, uint64_t cols);

// The fewest columns, and then odd multiples of them, that a row of this type may have.
inline uint64_t odd_columns(TensorType type, uint64_t odd) {
    const uint64_t block = tensor_type_info(type).block_elements;
    return (block > 32 ? block : 32) * odd;
}

}  // namespace lapidary::kernels::check
