#include "quant/decode.h"

#include "quant/decode_families.h"

namespace lapidary::quant {

void decode(TensorType type, const uint8_t* blocks, std::span<float> out) {
    switch (type) {
        case TensorType::f32: return decode_f32(blocks, out);
        case TensorType::f16: return decode_f16(blocks, out);
        case TensorType::bf16: return decode_bf16(blocks, out);
        case TensorType::q4_0: return decode_q4_0(blocks, out);
        case TensorType::q4_1: return decode_q4_1(blocks, out);
        case TensorType::q5_0: return decode_q5_0(blocks, out);
        case TensorType::q5_1: return decode_q5_1(blocks, out);
        case TensorType::q8_0: return decode_q8_0(blocks, out);
        case TensorType::q2_k: return decode_q2_k(blocks, out);
        case TensorType::q3_k: return decode_q3_k(blocks, out);
        case TensorType::q4_k: return decode_q4_k(blocks, out);
        case TensorType::q5_k: return decode_q5_k(blocks, out);
        case TensorType::q6_k: return decode_q6_k(blocks, out);
        case TensorType::iq4_nl: return decode_iq4_nl(blocks, out);
        case TensorType::iq4_xs: return decode_iq4_xs(blocks, out);
        case TensorType::mxfp4: return decode_mxfp4(blocks, out);
    }
}

Status decode_checked(TensorType type, std::span<const uint8_t> blocks, std::span<float> out) {
    const TensorTypeInfo* info = find_tensor_type(int32_t(type));
    if (info == nullptr || !info->decodable) {
        return fail(Code::unsupported, "tensor type {} cannot be decoded", int32_t(type));
    }
    if (out.size() % info->block_elements != 0) {
        return fail(Code::invalid_argument, "{} comes in blocks of {} elements, and {} is no multiple of that",
                    info->name, info->block_elements, out.size());
    }
    if (blocks.size() != row_bytes(type, out.size())) {
        return fail(Code::invalid_argument, "{} elements of {} take {} bytes, not {}", out.size(), info->name,
                    row_bytes(type, out.size()), blocks.size());
    }
    decode(type, blocks.data(), out);
    return {};
}

}  // namespace lapidary::quant
