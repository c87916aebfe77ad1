// How gemm.wgsl divides a product: a tile of it a workgroup. A large one reads and decodes less for each of its
// results, but a small product has too few of them to keep a large GPU busy.
#pragma once

#include <cstdint>

namespace lapidary::kernels {

struct GemmTiling {
    uint32_t rows_per_thread = 4;  // rows of a thread: kEach; these are the kernel's own defaults
    uint32_t down = 8;             // threads along the tokens: kDown

    [[nodiscard]] uint32_t rows() const { return 16 * rows_per_thread; }
    [[nodiscard]] uint32_t tokens() const { return 8 * down; }
    // Of workgroup memory.
    [[nodiscard]] uint32_t bytes() const { return 128 * (rows() + tokens()); }
};

// Where each matrix of a stack gets rows of its own, about as many: nearly all tiles of a canvas or a short prompt are the only one of
// their expert, and what is not there is computed all the same.
constexpr GemmTiling grouped_tiling(uint32_t rows_of_each) {
    return {.rows_per_thread = 4, .down = rows_of_each > 32 ? 8u : 4u};
}

// For a matrix of that many rows and blocks of that many tokens, on a device with that much workgroup memory. With
// `pairs` the rows are gate's and up's, and a thread has an even number of them.
GemmTiling gemm_tiling(uint64_t rows, uint64_t tokens, bool pairs, uint32_t workgroup_bytes);

}  // namespace lapidary::kernels
