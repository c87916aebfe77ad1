// c = factor · p · qᵀ of many small matrices whose shapes are known only when it runs (batched_gemm.wgsl): compiling would take
// longer than multiplying.
#pragma once

#include <limits>

#include "base/checked.h"
#include "kernels/dispatch.h"
#include "kernels/wgsl_modules.h"

namespace lapidary::kernels {

// What the kernel reads about the matrices. Crosses over as it is.
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

// Where dropout leaves something out; the numbers of kDrop.
enum class Drop : uint8_t { nothing = 0, from_p = 1, from_q = 2, from_c = 3 };

struct BatchedGemm {
    GemmShape shape;
    gpu::Tensor p, q, c;
    bool wide = true;  // tiles of 64 columns of c, else of 16
    uint32_t batches = 1;
    Drop drop = Drop::nothing;
    gpu::Tensor drops = {};

    [[nodiscard]] Result<Dispatch> dispatch(const Target&) const {
        using B = wgsl::batched_gemm::Binding;
        constexpr uint32_t kTile = 64;
        constexpr uint32_t kThinTile = 16;
        wgsl::batched_gemm::Constants constants;
        constants.kWide = wide;
        constants.kDropout = drop;
        Call<wgsl::batched_gemm> d(constants);
        d.words(B::shape, shape).read(B::p, p).read(B::q, q).read(B::dropout, drops);
        shape.keep != 0 ? d.update(B::c, c) : d.write(B::c, c);
        return d.workgroups(ceil_div(shape.m, kTile), ceil_div(shape.n, wide ? kTile : kThinTile), batches);
    }
};

// Partial sums that share a product's long sum: products with a rank have few results, and many workgroups should have
// something to do.
inline constexpr uint32_t kPartialSums = 8;
// Columns of a partial sum, whole steps of batched_gemm.wgsl.
constexpr uint32_t partial_columns(uint64_t columns) {
    return uint32_t((columns + kPartialSums * 16 - 1) / (kPartialSums * 16) * 16);
}

// y = Σ of partial sums (sum_partials.wgsl).
struct SumPartials {
    gpu::Tensor partials, y;
    uint32_t width = 0;
    uint32_t rows = 0;
    uint32_t count = kPartialSums;

    [[nodiscard]] Result<Dispatch> dispatch(const Target&) const {
        using B = wgsl::sum_partials::Binding;
        const std::array<uint32_t, 4> size = {width, count, rows * width, 0};
        return Call<wgsl::sum_partials>({})
            .words(B::size, size)
            .read(B::partials, partials)
            .write(B::y, y)
            .workgroups(ceil_div(uint64_t{rows} * width, 64));
    }
};

}  // namespace lapidary::kernels
