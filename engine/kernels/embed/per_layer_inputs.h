// y[t, l] = (rms(scale · context[t, l]; norm) + tokens[t, l]) / √2, of every layer l (per_layer_inputs.wgsl).
#pragma once

#include "kernels/dispatch.h"
#include "kernels/wgsl_modules.h"

namespace lapidary::kernels {

struct PerLayerInputs {
    gpu::Tensor context, tokens, norm, y;
    uint32_t width = 0;  // of a layer's input
    uint32_t layers = 0;
    uint32_t rows = 0;
    float scale = 1;
    float eps = 1e-6f;

    [[nodiscard]] Result<Dispatch> dispatch(const Target&) const {
        using B = wgsl::per_layer_inputs::Binding;
        return Call<wgsl::per_layer_inputs>({.kWidth = width, .kScale = scale, .kEps = eps})
            .read(B::context, context)
            .read(B::tokens, tokens)
            .read(B::w, norm)
            .write(B::y, y)
            .workgroups(layers, rows);
    }
};

}  // namespace lapidary::kernels
