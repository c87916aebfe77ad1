// A weight in memory, still in its file encoding; rows are decoded when they are needed.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/tensor_type.h"

namespace lapidary::reference {

struct Matrix {
    TensorType type = TensorType::f32;
    uint64_t cols = 0;
    uint64_t rows = 0;
    const uint8_t* data = nullptr;

    [[nodiscard]] bool present() const { return data != nullptr; }
    void decode_row(uint64_t row, std::span<float> out) const;
    // Rows [first, first + count) as a matrix of their own.
    [[nodiscard]] Matrix slice(uint64_t first, uint64_t count) const;
    // The whole of it as floats: for vectors, and for tests.
    [[nodiscard]] std::vector<float> decode() const;
};

}  // namespace lapidary::reference
