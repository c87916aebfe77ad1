// The encodings a tensor can have in a GGUF file: their ids, names and block sizes.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/error.h"

namespace lapidary {

// Numbered as in the file. Only the types the engine can decode have a name here; the others are known to
// `find_tensor_type` well enough to be refused by name.
enum class TensorType : int32_t {
    f32 = 0,
    f16 = 1,
    q4_0 = 2,
    q4_1 = 3,
    q5_0 = 6,
    q5_1 = 7,
    q8_0 = 8,
    q2_k = 10,
    q3_k = 11,
    q4_k = 12,
    q5_k = 13,
    q6_k = 14,
    iq4_nl = 20,
    iq4_xs = 23,
    bf16 = 30,
    mxfp4 = 39,
};

struct TensorTypeInfo {
    int32_t id;
    std::string_view name;  // as ggml spells it: "Q4_K"
    uint32_t block_elements;
    uint32_t block_bytes;
    bool decodable;  // false: sized and named, but the engine has no decoder for it
};

// Null for ids that are unknown or retired: such a tensor cannot even be sized.
const TensorTypeInfo* find_tensor_type(int32_t id);

// Never null: every enumerator has a row.
const TensorTypeInfo& tensor_type_info(TensorType type);

inline std::string_view tensor_type_name(TensorType type) {
    return tensor_type_info(type).name;
}

// Bytes of a row of `elements`; the caller has checked that whole blocks fit.
inline uint64_t row_bytes(TensorType type, uint64_t elements) {
    const TensorTypeInfo& info = tensor_type_info(type);
    return elements / info.block_elements * info.block_bytes;
}

}  // namespace lapidary
