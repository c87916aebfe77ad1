// Norms, product and choice of a layer's experts for many rows in one dispatch (moe_router.wgsl).
#pragma once

#include "base/checked.h"
#include "kernels/dispatch.h"
#include "kernels/weights.h"
#include "kernels/wgsl_modules.h"

namespace lapidary::kernels {

struct MoeRouter {
    gpu::Tensor h;             // [rows, cols]
    const Weights& w;          // [experts, cols] of f32
    gpu::Tensor vectors;       // the router's scale / √cols, the experts' norm, their scales
    gpu::Tensor ids, weights;  // [rows, used]
    gpu::Tensor z;             // [rows, cols] what the experts read
    uint32_t used = 0;
    float eps = 1e-6f;
    uint32_t rows = 0;

    [[nodiscard]] static bool takes(const Weights& w) {
        constexpr uint64_t kMaxExperts = 256;  // a thread each
        return w.format == Format::f32 && w.pieces.size() == 1 && w.rows <= kMaxExperts && w.cols % 4 == 0;
    }

    [[nodiscard]] Result<Dispatch> dispatch(const Target&) const {
        using B = wgsl::moe_router::Binding;
        return Call<wgsl::moe_router>({.kCols = w.cols, .kExperts = w.rows, .kTopK = used, .kEps = eps})
            .read(B::h, h)
            .read(B::w, {.at = w.pieces[0].binding})
            .read(B::vectors, vectors)
            .write(B::ids, ids)
            .write(B::router_weights, weights)
            .write(B::z, z)
            .workgroups(rows);
    }
};

}  // namespace lapidary::kernels
