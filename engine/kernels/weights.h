// A matrix on the GPU, or several stacked ones, in one or more buffers: a binding has a largest size.
#pragma once

#include <vector>

#include "base/error.h"
#include "gpu/device.h"
#include "kernels/formats.h"

namespace lapidary::kernels {

struct Weights {
    struct Piece {
        gpu::Binding binding;
        uint64_t first_row = 0;
        uint64_t rows = 0;
    };
    Format format = Format::f32;
    uint64_t cols = 0;
    uint64_t rows = 0;
    std::vector<Piece> pieces;

    [[nodiscard]] uint64_t bytes() const { return gpu_bytes(format, rows, cols); }
    // One of the pieces, as a matrix of its own.
    [[nodiscard]] Weights piece(size_t index) const {
        Weights out = *this;
        out.pieces = {pieces[index]};
        return out;
    }
};

}  // namespace lapidary::kernels
