// q = rope(rms(q)), k = rope(rms(k)), v = rms(v), each to a place of its own (qk_norm_rope.wgsl); and the gradient of that
// (qk_norm_rope_backward.wgsl).
#pragma once

#include "kernels/attention/kv_view.h"
#include "kernels/dispatch.h"
#include "kernels/wgsl_modules.h"

namespace lapidary::kernels {

// What both directions are told.
struct QkNormRopeShape {
    HeadShape heads;
    uint32_t stride = 0;  // of a row of qkv: q, then k, then v
    bool owns_kv = true;
    bool values_are_keys = false;  // v is the raw k
    bool norms_values = true;      // else v stays as it is
    float eps = 1e-6f;
    uint32_t rows = 0;

    template <class Constants>
    [[nodiscard]] Constants constants() const {
        Constants c{.kHeads = heads.heads,
                    .kKvHeads = owns_kv ? heads.kv_heads : 0,
                    .kHeadDim = heads.head_dim,
                    .kStride = stride};
        c.kKOffset = heads.q_width();
        c.kVOffset = heads.q_width() + (values_are_keys ? 0 : heads.kv_width());
        c.kEps = eps;
        c.kNormsValues = norms_values;
        return c;
    }
};

struct QkNormRope {
    QkNormRopeShape shape;
    gpu::Tensor position_ids;  // of each row its position in its example, and the row where that begins
    gpu::Tensor norms;         // q's, then k's
    gpu::Tensor frequencies;
    gpu::Tensor qkv;
    gpu::Tensor q;
    gpu::Tensor kv;  // [rows, keys then values]

    [[nodiscard]] Result<Dispatch> dispatch(const Target&) const {
        using B = wgsl::qk_norm_rope::Binding;
        Call<wgsl::qk_norm_rope> d(shape.constants<wgsl::qk_norm_rope::Constants>());
        d.read(B::position_ids, position_ids).read(B::norms, norms).read(B::frequencies, frequencies).read(B::qkv, qkv);
        d.write(B::q, q);
        if (shape.owns_kv) d.write(B::kv, kv);
        return d.workgroups(shape.heads.heads + (shape.owns_kv ? 2 * shape.heads.kv_heads : 0), shape.rows);
    }
};

struct QkNormRopeBackward {
    QkNormRopeShape shape;
    gpu::Tensor position_ids, norms, frequencies, qkv;  // as QkNormRope has them
    gpu::Tensor dq, dkv;
    gpu::Tensor dqkv;

    [[nodiscard]] Result<Dispatch> dispatch(const Target&) const {
        using B = wgsl::qk_norm_rope_backward::Binding;
        Call<wgsl::qk_norm_rope_backward> d(shape.constants<wgsl::qk_norm_rope_backward::Constants>());
        d.read(B::position_ids, position_ids).read(B::norms, norms).read(B::frequencies, frequencies).read(B::qkv, qkv);
        d.read(B::dq, dq).write(B::dqkv, dqkv);
        if (shape.owns_kv) d.read(B::dkv, dkv);
        // Where values are the raw keys, their gradients come together in the keys' place.
        const uint32_t kv_heads = shape.values_are_keys ? shape.heads.kv_heads : 2 * shape.heads.kv_heads;
        return d.workgroups(shape.heads.heads + (shape.owns_kv ? kv_heads : 0), shape.rows);
    }
};

}  // namespace lapidary::kernels
