// One token: q, k and v normed and rotated, k and v into the cache, then attention in splits (flash_decode.wgsl).
#pragma once

#include <optional>

#include "kernels/attention/kv_view.h"
#include "kernels/dispatch.h"
#include "kernels/wgsl_modules.h"

namespace lapidary::kernels {

// Of a workgroup: query heads that share a key head, and room for the outputs of so many warps of 32 threads.
struct FlashDecodeTiling {
    uint32_t heads = 1;
    uint32_t staged_warps = 2;
};

// `keys`: the most that a token sees.
inline FlashDecodeTiling flash_decode_tiling(const gpu::Info& info, const HeadShape& shape, uint32_t keys) {
    // Two heads read less, but there are fewer workgroups then, each with more to do and twice the code: where a window or a
    // short context limits how much there is to read, one.
    constexpr uint32_t kMany = 2048;
    const auto fits = [&](FlashDecodeTiling tiling) {
        constexpr uint32_t kOthers = 5 * 1024;                         // sums, scales, statistics
        const uint32_t rows = tiling.heads + 2 + tiling.staged_warps;  // queries, the token's own, what warps add up
        return rows * shape.head_dim * 4 + kOthers <= info.max_workgroup_bytes;
    };
    FlashDecodeTiling out;
    const bool shared = shape.heads / shape.kv_heads % 2 == 0;
    if (keys > kMany && shared && fits({.heads = 2})) out.heads = 2;
    for (const uint32_t warps : {4, 8}) {
        if (fits({out.heads, warps})) out.staged_warps = warps;
    }
    return out;
}

struct FlashDecode {
    HeadShape shape;
    gpu::Tensor qkv;
    gpu::Tensor norms;  // q's, then k's
    gpu::Tensor rope_table;
    KvView kv;
    Visible visible;
    uint32_t max_keys = 0;  // that the token can see
    bool owns_kv = true;
    bool values_are_keys = false;  // v is the raw k
    bool norms_values = true;
    float eps = 1e-6f;
    uint32_t max_splits = 1;
    gpu::Tensor splits, stats;  // [heads, max_splits, head_dim], [heads, max_splits] of (max, sum)
    std::optional<FlashDecodeTiling> tiling = {};

    [[nodiscard]] Result<Dispatch> dispatch(const Target& target) const {
        using B = wgsl::flash_decode::Binding;
        const FlashDecodeTiling division = tiling.value_or(flash_decode_tiling(target.info, shape, max_keys));
        wgsl::flash_decode::Constants c{
            .kHeads = shape.heads, .kKvHeads = shape.kv_heads, .kHeadDim = shape.head_dim, .kRing = kv.ring};
        c.kKOffset = shape.q_width();
        c.kVOffset = shape.q_width() + (values_are_keys ? 0 : shape.kv_width());
        c.kOwns = owns_kv;
        c.kNormsValues = norms_values;
        c.kEps = eps;
        c.kHeadsPerGroup = division.heads;
        c.kStagedWarps = division.staged_warps;
        c.kMaxSplits = max_splits;
        return Call<wgsl::flash_decode>(c)
            .with<wgsl::visible_causal>({.kWindow = visible.window})
            .read(B::qkv, qkv)
            .read(B::norms, norms)
            .read(B::rope_table, rope_table)
            .update(B::k_cache, kv.k)
            .update(B::v_cache, kv.v)
            .write(B::splits, splits)
            .write(B::stats, stats)
            .workgroups(shape.heads / division.heads, max_splits);
    }
};

}  // namespace lapidary::kernels
