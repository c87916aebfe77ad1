// q = rope(rms(q)) in place; k = rope(rms(k)) and v = rms(v) into the caches, for many rows (qk_norm_rope_store.wgsl).
#pragma once

#include "kernels/attention/kv_view.h"
#include "kernels/dispatch.h"
#include "kernels/wgsl_modules.h"

namespace lapidary::kernels {

struct QkNormRopeStore {
    HeadShape shape;
    gpu::Tensor qkv;    // [rows, q, then k, then v]
    gpu::Tensor norms;  // q's, then k's
    gpu::Tensor frequencies;
    KvView kv;
    Visible visible = {};
    bool owns_kv = true;
    bool values_are_keys = false;  // v is the raw k
    bool norms_values = true;
    float eps = 1e-6f;
    uint32_t rows = 0;

    [[nodiscard]] Result<Dispatch> dispatch(const Target&) const {
        using B = wgsl::qk_norm_rope_store::Binding;
        wgsl::qk_norm_rope_store::Constants c{.kHeads = shape.heads,
                                              .kKvHeads = owns_kv ? shape.kv_heads : 0,
                                              .kHeadDim = shape.head_dim,
                                              .kStride = qkv.stride};
        c.kKOffset = shape.q_width();
        c.kVOffset = shape.q_width() + (values_are_keys ? 0 : shape.kv_width());
        c.kRing = kv.ring;
        c.kNormsValues = norms_values;
        c.kEps = eps;
        Call<wgsl::qk_norm_rope_store> d(c);
        fill_visible(d, {.rows = visible.rows}, kv);  // how far a row sees is nothing to this kernel
        d.read(B::norms, norms).read(B::frequencies, frequencies).update(B::qkv, qkv);
        if (owns_kv) d.update(B::k_cache, kv.k).update(B::v_cache, kv.v);
        return d.workgroups(shape.heads + (owns_kv ? 2 * shape.kv_heads : 0), rows);
    }
};

}  // namespace lapidary::kernels
