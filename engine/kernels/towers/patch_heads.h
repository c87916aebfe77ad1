// Heads of an image's patches, normed and turned by where the patch is (patch_heads.wgsl).
#pragma once

#include "kernels/dispatch.h"
#include "kernels/wgsl_modules.h"

namespace lapidary::kernels {

struct PatchHeads {
    gpu::Tensor x, y;
    gpu::Tensor norm = {}, frequencies = {};  // empty: of values, which are only normed
    uint32_t heads = 0;
    uint32_t head_dim = 0;
    uint32_t patches = 0;
    uint32_t columns = 1;  // patches in a row of the image
    float eps = 1e-6f;

    [[nodiscard]] Result<Dispatch> dispatch(const Target&) const {
        using B = wgsl::patch_heads::Binding;
        wgsl::patch_heads::Constants c{.kHeads = heads, .kHeadDim = head_dim};
        c.kTurns = norm.exists();
        c.kEps = eps;
        return Call<wgsl::patch_heads>(c)
            .words(B::columns, columns)
            .read(B::norm, norm)
            .read(B::frequencies, frequencies)
            .read(B::x, x)
            .write(B::y, y)
            .workgroups(heads, patches);
    }
};

}  // namespace lapidary::kernels
