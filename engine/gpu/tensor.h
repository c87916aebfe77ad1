// Tensor: rows of numbers on the GPU, as a value. Who allocates keeps them alive; a tensor only says where they are and
// how they lie.
#pragma once

#include <cstdint>

#include "gpu/device.h"

namespace lapidary::gpu {

// limbs: three signed bytes a number, exact in integer dot products (kernels/lib/limbs.wgsl).
enum class Element : uint8_t { f32, u32, limbs };

struct Tensor {
    Binding at = {};  // buffer 0: there is none
    uint32_t rows = 0;
    uint32_t cols = 0;
    uint32_t stride = 0;  // elements from row to row
    Element element = Element::f32;
    uint32_t addends = 1;  // of one token: rows whose sum it is (a product whose columns were split leaves several)

    [[nodiscard]] bool exists() const { return at.buffer != 0; }
    explicit operator bool() const { return exists(); }

    // From element `first` of the first row on, to the end of what is bound.
    [[nodiscard]] Tensor from(uint64_t first) const {
        constexpr uint64_t kBytes = sizeof(float);
        Tensor out = *this;
        out.at.offset += first * kBytes;
        out.at.size -= first * kBytes;
        return out;
    }
    [[nodiscard]] Tensor row_range(uint32_t first, uint32_t count) const {
        Tensor out = from(uint64_t{first} * stride);
        out.at.size = uint64_t{count} * stride * sizeof(float);
        out.rows = count;
        return out;
    }
};

// [rows, cols], one row after the other, in all of a binding.
inline Tensor rows_in(const Binding& binding, uint32_t rows, uint32_t cols) {
    return {.at = binding, .rows = rows, .cols = cols, .stride = cols};
}

}  // namespace lapidary::gpu
