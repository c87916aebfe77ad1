// How weights lie on the GPU: rows of units of 64 weights, quants first, then what scales them, so that every load of
// quants is 16 bytes and aligned (kernels/weights/). The rarer encodings become one common 8-bit format without loss.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/tensor_type.h"

namespace lapidary::kernels {

enum class Format : uint8_t { q4_k, q5_k, q6_k, q4_0, q8_0, i8, f16, bf16, f32 };

// Which one a tensor of this type gets.
Format format_of(TensorType type);

// The WGSL that reads it (kernels/weights/): run_values over `w`, and unit where it holds whole numbers.
struct Module;
const Module& format_module(Format format);
bool holds_whole_numbers(Format format);
std::string_view format_name(Format format);

// Kernels take rows of whole blocks, and of a multiple of 32 elements.
Status check_columns(TensorType type, uint64_t cols);

// Bytes of `rows` rows on the GPU, a multiple of 16.
uint64_t gpu_bytes(Format format, uint64_t rows, uint64_t cols);

// What the offset of a binding must be a multiple of, on any GPU.
inline constexpr uint64_t kBindingAlignment = 256;

// Where rows in another format can begin behind `rows` rows in the first: at one of their own rows, so that a kernel can
// find it, and where a binding can begin. In rows of the second format.
uint64_t second_row_at(Format first, uint64_t rows, Format second, uint64_t cols);

// `rows` rows as the file has them → as the GPU wants them. The result has gpu_bytes(format, rows, cols) bytes.
std::vector<uint8_t> repack(TensorType type, std::span<const uint8_t> file_bytes, uint64_t rows, uint64_t cols);

}  // namespace lapidary::kernels
