// y = softmax(q · Kᵀ) · V of many rows against the cache (flash_prefill.wgsl).
#pragma once

#include <optional>

#include "base/checked.h"
#include "kernels/attention/kv_view.h"
#include "kernels/dispatch.h"
#include "kernels/wgsl_modules.h"

namespace lapidary::kernels {

// How many queries a workgroup takes, of heads of `head_dim` elements, 512 at most.
inline uint32_t flash_prefill_queries(const gpu::Info& info, uint64_t head_dim) {
    constexpr uint64_t kTile = 64;
    constexpr uint64_t kOthers = 5632;  // sums over threads and of rows
    constexpr uint32_t kMax = 8;        // with 16 a prompt behind 8,192 tokens took a third longer on an H200
    const uint64_t bytes = kMax * (head_dim + 2 * kTile) * sizeof(float) + kOthers;
    return bytes <= info.max_workgroup_bytes ? kMax : kMax / 2;
}

struct FlashPrefill {
    HeadShape shape;
    gpu::Tensor qkv, y;
    KvView kv;
    Visible visible;
    uint32_t rows = 0;
    std::optional<uint32_t> queries = {};  // of a workgroup; of one's own, to try it

    [[nodiscard]] Result<Dispatch> dispatch(const Target& target) const {
        using B = wgsl::flash_prefill::Binding;
        const uint32_t together = queries.value_or(flash_prefill_queries(target.info, shape.head_dim));
        wgsl::flash_prefill::Constants c{.kHeads = shape.heads,
                                         .kKvHeads = shape.kv_heads,
                                         .kHeadDim = shape.head_dim,
                                         .kStride = qkv.stride,
                                         .kRing = kv.ring};
        c.kQueries = together;
        const uint64_t of_a_key_head = uint64_t{rows} * shape.heads / shape.kv_heads;
        Call<wgsl::flash_prefill> d(c);
        d.read(B::qkv, qkv).read(B::k_cache, kv.k).read(B::v_cache, kv.v).write(B::y, y);
        fill_visible(d, visible, kv);
        return d.workgroups(shape.kv_heads, ceil_div(of_a_key_head, together));
    }
};

}  // namespace lapidary::kernels
