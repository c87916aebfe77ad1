#include "kernels/check/weights.h"

#include <cstring>
#include <span>

#include "base/half.h"
#include "quant/decode.h"

namespace lapidary::kernels::check {
namespace {

// Where the halves are that scale a block. Everything else of a block may be any bits.
std::span<const size_t> scales_of(TensorType type) {
    static constexpr std::array<size_t, 2> kFirst = {0, 2};  // scale and minimum
    static constexpr std::array<size_t, 2> kQ2K = {80, 82};
    static constexpr std::array<size_t, 1> kQ3K = {108};
    static constexpr std::array<size_t, 1> kQ6K = {208};
    switch (type) {
        case TensorType::q4_1:
        case TensorType::q5_1:
        case TensorType::q4_k:
        case TensorType::q5_k: return kFirst;
        case TensorType::q2_k: return kQ2K;
        case TensorType::q3_k: return kQ3K;
        case TensorType::q6_k: return kQ6K;
        default: return std::span(kFirst).first(1);
    }
}

void put_half(uint16_t half, uint8_t* out) {
    std::memcpy(out, &half, 2);
}

void fill_block(Random& random, TensorType type, std::span<uint8_t> block) {
    const float value = random.uniform(-1, 1);
    switch (type) {
        case TensorType::f32: std::memcpy(block.data(), &value, 4); return;
        case TensorType::f16: put_half(f32_to_f16(value), block.data()); return;
        case TensorType::bf16: put_half(f32_to_bf16(value), block.data()); return;
        default: break;
    }
    for (uint8_t& byte : block) byte = uint8_t(random.bits());
    if (type == TensorType::mxfp4) {
        block[0] = uint8_t(118 + random.below(8));  // an exponent: neither 2⁻¹²⁷ nor 2¹²⁸
        return;
    }
    for (const size_t at : scales_of(type)) {
        const float size = random.uniform(0.004f, 0.01f);
        put_half(f32_to_f16(random.below(2) == 0 ? size : -size), block.data() + at);
    }
}

}  // namespace

RandomWeights random_weights(Random& random, TensorType type, uint64_t rows, uint64_t cols) {
    const uint32_t block = tensor_type_info(type).block_bytes;
    std::vector<uint8_t> file(size_t(rows * row_bytes(type, cols)));
    for (size_t at = 0; at < file.size(); at += block) fill_block(random, type, std::span(file).subspan(at, block));
    RandomWeights out;
    out.values.resize(size_t(rows * cols));
    quant::decode(type, file.data(), out.values);
    out.packed = repack(type, file, rows, cols);
    return out;
}

}  // namespace lapidary::kernels::check
