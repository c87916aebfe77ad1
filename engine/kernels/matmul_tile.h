// How matmul.wgsl divides a product: a tile of it a workgroup. A large one reads and decodes less for each of its
// results, but a small product has too few of them to keep a large GPU busy.
#pragma once

#include <cstdint>
#include <vector>

#include "gpu/device.h"

namespace lapidary::kernels {

struct MatmulTile {
    uint32_t each = 4;  // rows of a thread: kEach; these are the kernel's own defaults
    uint32_t down = 8;  // threads along the tokens: kDown

    [[nodiscard]] uint32_t rows() const { return 16 * each; }
    [[nodiscard]] uint32_t tokens() const { return 8 * down; }
    // Of workgroup memory.
    [[nodiscard]] uint32_t bytes() const { return 128 * (rows() + tokens()); }
    void add_to(std::vector<gpu::Constant>& constants) const;
};

// For a matrix of that many rows and blocks of that many tokens, on a device with that much workgroup memory. With
// `pairs` the rows are gate's and up's, and a thread has an even number of them.
MatmulTile matmul_tile(uint64_t rows, uint64_t tokens, bool pairs, uint32_t workgroup_bytes);

}  // namespace lapidary::kernels
