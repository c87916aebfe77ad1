// y = gelu(a) · b where a product could not finish with it, because something was added first (gelu_gate.wgsl); and its
// gradient (gelu_gate_backward.wgsl).
#pragma once

#include "base/checked.h"
#include "kernels/dispatch.h"
#include "kernels/wgsl_modules.h"

namespace lapidary::kernels {

// What the gate is multiplied with: the second half of g's rows, or factors of their own.
struct GateFactors {
    gpu::Tensor factors = {};  // empty: the second half
    uint64_t offset = 0;       // of the first one in a row
};

template <class Constants>
void set_gate_factors(Constants& constants, const GateFactors& by) {
    if (!by.factors) return;
    constants.kPaired = false;
    constants.kAuxStride = by.factors.stride;
    constants.kAuxOffset = by.offset;
}

struct GeluGateRows {
    gpu::Tensor g, y;
    GateFactors by = {};
    uint64_t cols = 0;  // of y
    uint64_t rows = 0;

    [[nodiscard]] Result<Dispatch> dispatch(const Target&) const {
        using B = wgsl::gelu_gate::Binding;
        wgsl::gelu_gate::Constants c{.kCols = cols};
        set_gate_factors(c, by);
        return Call<wgsl::gelu_gate>(c)
            .read(B::g, g)
            .read(B::aux, by.factors)
            .write(B::y, y)
            .workgroups(ceil_div(cols, 64), rows);
    }
};

// g becomes the gradient by g, from that by y.
struct GeluGateBackward {
    gpu::Tensor dy, g;
    GateFactors by = {};
    uint64_t cols = 0;
    uint64_t rows = 0;

    [[nodiscard]] Result<Dispatch> dispatch(const Target&) const {
        using B = wgsl::gelu_gate_backward::Binding;
        wgsl::gelu_gate_backward::Constants c{.kCols = cols};
        set_gate_factors(c, by);
        return Call<wgsl::gelu_gate_backward>(c)
            .read(B::dy, dy)
            .read(B::aux, by.factors)
            .update(B::g, g)
            .workgroups(ceil_div(cols, 64), rows);
    }
};

}  // namespace lapidary::kernels
