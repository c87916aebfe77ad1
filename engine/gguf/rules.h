// What a GGUF header may contain: one set of limits and rules, for the reader and the writer alike.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/error.h"
#include "base/tensor_type.h"
#include "gguf/value.h"

namespace lapidary::gguf {

// Beyond these a file is refused whatever it says. Real Gemma 4 headers: 16 MB, 50 keys, up to 2,200 tensors.
inline constexpr uint64_t kMaxHeaderBytes = 256ull << 20;
inline constexpr uint64_t kMaxKeys = 1 << 16;
inline constexpr uint64_t kMaxTensors = 1 << 17;
inline constexpr uint64_t kMaxStringBytes = 1ull << 30;
inline constexpr uint64_t kMaxArrayElements = 1ull << 30;
inline constexpr size_t kMaxKeyBytes = 65535;  // the format's own limit
inline constexpr size_t kMaxTensorName = 63;
inline constexpr size_t kMaxDims = 4;

inline constexpr std::string_view kAlignmentKey = "general.alignment";
inline constexpr uint64_t kDefaultAlignment = 32;

// The alignment that the value of general.alignment (null: the key is absent) asks for: a power of two.
Result<uint64_t> alignment_from(const Value* value);

// The bytes a tensor of this type and shape takes, once the shape is known to make sense: at most four dimensions,
// none negative, whole blocks in a row. No product of some or all of the dimensions overflows an int64, not even
// when one of the others is zero.
Result<uint64_t> tensor_bytes(std::string_view name, const TensorTypeInfo& type, std::span<const uint64_t> dims);

}  // namespace lapidary::gguf
