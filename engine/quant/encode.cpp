#include "quant/encode.h"

#include <cstring>

#include "base/half.h"
#include "quant/encode_families.h"
#include "quant/simd.h"

namespace lapidary::quant {

bool can_encode(TensorType type) {
    switch (type) {
        case TensorType::f32:
        case TensorType::f16:
        case TensorType::bf16:
        case TensorType::q4_0:
        case TensorType::q5_0:
        case TensorType::q8_0:
        case TensorType::q4_k:
        case TensorType::q6_k: return true;
        default: return false;
    }
}

void encode(TensorType type, std::span<const float> values, uint8_t* out) {
    switch (type) {
        case TensorType::f32:
            if (!values.empty()) std::memcpy(out, values.data(), values.size_bytes());
            return;
        case TensorType::f16:
            for (size_t i = 0; i < values.size(); ++i) store(out + 2 * i, f32_to_f16(values[i]));
            return;
        case TensorType::bf16:
            for (size_t i = 0; i < values.size(); ++i) store(out + 2 * i, f32_to_bf16(values[i]));
            return;
        case TensorType::q4_0: return encode_q4_0(values, out);
        case TensorType::q5_0: return encode_q5_0(values, out);
        case TensorType::q8_0: return encode_q8_0(values, out);
        case TensorType::q4_k: return encode_q4_k(values, out);
        case TensorType::q6_k: return encode_q6_k(values, out);
        default: return;  // can_encode() said so
    }
}

Status encode_checked(TensorType type, std::span<const float> values, std::span<uint8_t> out) {
    const TensorTypeInfo* info = find_tensor_type(int32_t(type));
    if (info == nullptr) return fail(Code::unsupported, "tensor type {} cannot be written", int32_t(type));
    if (!can_encode(type)) return fail(Code::unsupported, "tensors of type {} cannot be written", info->name);
    if (values.size() % info->block_elements != 0) {
        return fail(Code::invalid_argument, "{} comes in blocks of {} elements, and {} is no multiple of that",
                    info->name, info->block_elements, values.size());
    }
    if (out.size() != row_bytes(type, values.size())) {
        return fail(Code::invalid_argument, "{} elements of {} take {} bytes, not {}", values.size(), info->name,
                    row_bytes(type, values.size()), out.size());
    }
    encode(type, values, out.data());
    return {};
}

}  // namespace lapidary::quant
