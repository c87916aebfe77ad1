// How weights lie on the GPU. Some encodings are used as they are in the file, some are repacked so that every load is
// 16 bytes and aligned, and the rarer ones become one common 8-bit format without loss.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/tensor_type.h"

namespace lapidary::kernels {

enum class Format : uint8_t { q4_k, q5_k, q6_k, q4_0, q8_0, i8, f16, bf16, f32 };

// Which one a tensor of this type gets.
Format format_of(TensorType type);

// The WGSL that decodes it (kernels/formats/NAME.wgsl): chunk_runs and chunk_values over `w`.
std::string_view format_source(Format format);
std::string_view format_name(Format format);

// Kernels take rows in chunks of 32 elements, and of whole blocks.
Status check_columns(TensorType type, uint64_t cols);

// Bytes of `rows` rows on the GPU, a multiple of 16.
uint64_t gpu_bytes(Format format, uint64_t rows, uint64_t cols);

// Repacking works on pieces of a tensor that begin at a row whose number is a multiple of this.
uint64_t row_alignment(Format format, uint64_t cols);

// `rows` rows as the file has them → as the GPU wants them. The result has gpu_bytes(format, rows, cols) bytes.
std::vector<uint8_t> repack(TensorType type, std::span<const uint8_t> file_bytes, uint64_t rows, uint64_t cols);

}  // namespace lapidary::kernels
