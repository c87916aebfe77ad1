// The router of a layer with experts, and the sum of what they answer.
#pragma once

#include "base/checked.h"
#include "kernels/dispatch.h"
#include "kernels/weights.h"
#include "kernels/wgsl_modules.h"

namespace lapidary::kernels {

// Which experts a row goes to, and with which weights (moe_route.wgsl).
struct MoeRoute {
    gpu::Tensor logits, scales;  // [rows, experts], [experts]
    gpu::Tensor ids, weights;    // [rows, used]
    uint32_t experts = 0;
    uint32_t used = 0;
    uint32_t rows = 0;

    [[nodiscard]] Result<Dispatch> dispatch(const Target&) const {
        using B = wgsl::moe_route::Binding;
        return Call<wgsl::moe_route>({.kExperts = experts, .kTopK = used})
            .read(B::logits, logits)
            .read(B::scales, scales)
            .write(B::ids, ids)
            .write(B::router_weights, weights)
            .workgroups(ceil_div(rows, 64));
    }
};

// Norms, product and choice of a layer's experts for many rows in one dispatch (moe_router.wgsl).
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

// y[t] = Σ_k weights[t, k] · x[t, k]: the answers of a row's experts (moe_combine.wgsl).
struct MoeCombine {
    gpu::Tensor weights, x, y;
    uint32_t cols = 0;
    uint32_t used = 0;
    uint32_t rows = 0;

    [[nodiscard]] Result<Dispatch> dispatch(const Target&) const {
        using B = wgsl::moe_combine::Binding;
        return Call<wgsl::moe_combine>({.kCols = cols, .kTopK = used})
            .read(B::router_weights, weights)
            .read(B::x, x)
            .write(B::y, y)
            .workgroups(ceil_div(cols, 64), rows);
    }
};

}  // namespace lapidary::kernels
