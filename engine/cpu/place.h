// Matrices on their way from a file into a machine's memory.
#pragma once

#include "base/byte_source.h"
#include "base/tensor_type.h"
#include "cpu/machine.h"

namespace lapidary::cpu {

Form form_of(TensorType type);
// What activations have to be for a matrix, where they are `digits` for weights of few bits.
Digits digits_for(Form form, Digits digits);

// A place for a matrix of this type; columns are whole blocks, and a multiple of 16.
Result<Matrix> new_matrix(Blocks& blocks, TensorType type, uint64_t rows, uint64_t cols);
// Rows [first, first + count) from a file's bytes; `first` is a multiple of 8, and so is `count` but for the last.
Status fill_matrix(Heap& heap, const Matrix& w, TensorType type, uint64_t first, uint64_t count,
                   std::span<const uint8_t> bytes);

}  // namespace lapidary::cpu
