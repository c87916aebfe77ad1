// y = (base + x / rms(x) ⊙ w) · scale (rms_norm.wgsl), and the gradient of x / rms(x) ⊙ w by x (rms_norm_backward.wgsl).
#pragma once

#include "kernels/dispatch.h"
#include "kernels/wgsl_modules.h"

namespace lapidary::kernels {

struct RmsNorm {
    gpu::Tensor base = {};  // empty: nothing is added to the norm
    gpu::Tensor x;
    gpu::Tensor weights;  // w, then the scale
    gpu::Tensor y;
    uint32_t cols = 0;
    uint32_t rows = 0;
    float eps = 1e-6f;

    [[nodiscard]] Result<Dispatch> dispatch(const Target&) const {
        using B = wgsl::rms_norm::Binding;
        wgsl::rms_norm::Constants c{.kCols = cols};
        c.kAdd = base.exists();
        c.kEps = eps;
        return Call<wgsl::rms_norm>(c)
            .read(B::base, base)
            .read(B::x, x)
            .read(B::w, weights)
            .write(B::y, y)
            .workgroups(rows);
    }
};

// dx = (dx + what dy says about x) · scale
struct RmsNormBackward {
    gpu::Tensor x;
    gpu::Tensor weights;  // w, then the scale
    gpu::Tensor dy, dx;
    bool add = false;  // to the dx that is there
    uint32_t cols = 0;
    uint32_t rows = 0;
    float eps = 1e-6f;

    [[nodiscard]] Result<Dispatch> dispatch(const Target&) const {
        using B = wgsl::rms_norm_backward::Binding;
        wgsl::rms_norm_backward::Constants c{.kCols = cols};
        c.kAdd = add;
        c.kEps = eps;
        Call<wgsl::rms_norm_backward> d(c);
        d.read(B::x, x).read(B::w, weights).read(B::dy, dy);
        add ? d.update(B::dx, dx) : d.write(B::dx, dx);
        return d.workgroups(rows);
    }
};

}  // namespace lapidary::kernels
