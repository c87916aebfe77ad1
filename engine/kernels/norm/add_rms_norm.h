// h' = (h + rms(x; post)) · scale, or with a second branch h + rms(rms(x; post_1) + rms(x2; post_2); post);
// y = rms(h'; next) · next_scale (add_rms_norm.wgsl).
#pragma once

#include "base/checked.h"
#include "kernels/dispatch.h"
#include "kernels/wgsl_modules.h"

namespace lapidary::kernels {

struct AddRmsNorm {
    gpu::Tensor h;
    gpu::Tensor x = {}, x2 = {};  // x may be the sum of several rows (addends), of one token
    gpu::Tensor weights;          // [post, (post_1, post_2,) next, scale] one after the other
    gpu::Tensor y = {};           // limbs: of one token, and then h is only read and h_out written
    gpu::Tensor h_out = {};
    uint64_t cols = 0;
    uint32_t rows = 1;
    float eps = 1e-6f;
    float next_scale = 1;

    [[nodiscard]] Result<Dispatch> dispatch(const Target&) const {
        using B = wgsl::add_rms_norm::Binding;
        constexpr uint32_t kColumnsOfAWorkgroup = 2048;  // where a row becomes limbs
        const bool limbs = y.element == gpu::Element::limbs;
        wgsl::add_rms_norm::Constants c{.kCols = cols};
        c.kAdd = x2 ? 2 : x ? 1 : 0;
        c.kNext = y.exists();
        c.kNextScale = next_scale;
        c.kLimbs = limbs;
        c.kAddends = x ? x.addends : 1;
        c.kEps = eps;
        Call<wgsl::add_rms_norm> d(c);
        d.read(B::x, x).read(B::x2, limbs ? h : x2).read(B::w, weights).write(B::y, y);
        limbs ? d.write(B::h, h_out) : d.update(B::h, h);
        return d.workgroups(limbs ? ceil_div(cols, kColumnsOfAWorkgroup) : rows);
    }
};

}  // namespace lapidary::kernels
