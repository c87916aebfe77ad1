// What train/gemm.wgsl reads about the matrices it multiplies. Crosses over as it is.
#pragma once

#include <cstdint>
#include <limits>

namespace lapidary::kernels {

struct GemmShape {
    static constexpr uint32_t kNoTokens = std::numeric_limits<uint32_t>::max();

    uint32_t m = 0, n = 0, k = 0;
    uint32_t repeats = 1;
    // The first token, where m, n or k counts tokens: then there are at most as many as the step has from there on.
    uint32_t token_m = kNoTokens, token_n = kNoTokens, token_k = kNoTokens;
    uint32_t all_k = 0;
    // Element (m, k) of p is at p_at + m · p_m + k · p_k + batch / p_share · p_batch + repeat · p_repeat.
    uint32_t p_at = 0, p_m = 0, p_k = 1, p_batch = 0, p_share = 1, p_repeat = 0;
    uint32_t q_at = 0, q_n = 0, q_k = 1, q_batch = 0, q_share = 1, q_repeat = 0;
    uint32_t c_at = 0, c_m = 1, c_n = 0, c_batch = 0;
    uint32_t keep = 0;
    float factor = 1;
    uint32_t update = 0, columns = 0;
};
static_assert(sizeof(GemmShape) == 28 * 4);

}  // namespace lapidary::kernels
