#include "kernels/gemm/gemm_tiling.h"

#include <array>
#include <limits>

#include "base/checked.h"

namespace lapidary::kernels {
namespace {

struct Candidate {
    GemmTiling tile;
    uint32_t cost;  // of one tile
};

}  // namespace

GemmTiling gemm_tiling(uint64_t rows, uint64_t tokens, bool pairs, uint32_t workgroup_bytes) {
    // Microseconds on an H200 for rows of 10,240 columns (docs/performance.md).
    constexpr std::array<Candidate, 4> kCandidates = {{
        {{.rows_per_thread = 8, .down = 16}, 1130},
        {{.rows_per_thread = 5, .down = 16}, 820},
        {{.rows_per_thread = 6, .down = 8}, 460},
        {{.rows_per_thread = 4, .down = 8}, 322},
    }};
    // Tiles that it computes at a time. A GPU with fewer compute units is well off with the same ones.
    constexpr uint64_t kPlaces = 132;
    GemmTiling best;
    uint64_t least = std::numeric_limits<uint64_t>::max();
    for (const auto& [tile, cost] : kCandidates) {
        if (tile.bytes() > workgroup_bytes || (pairs && tile.rows_per_thread % 2 != 0)) continue;
        const uint64_t tiles = uint64_t(ceil_div(rows, tile.rows())) * ceil_div(tokens, tile.tokens());
        const uint64_t total = ceil_div(tiles, kPlaces) * uint64_t(cost);
        if (total < least) {
            least = total;
            best = tile;
        }
    }
    return best;
}

}  // namespace lapidary::kernels
