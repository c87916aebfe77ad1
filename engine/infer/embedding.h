// Tokens → the first rows of the residual stream, and, where the model has them, each layer's own inputs.
#pragma once

#include "infer/gpu_ops.h"

namespace lapidary::infer {

struct Embedded {
    gpu::Tensor h;       // [rows, d]
    gpu::Tensor inputs;  // [rows, layers · P], of a model that has them
};

// y = scale · table[ids]
void gather(kernels::Program& program, const kernels::Weights& table, gpu::Tensor ids, uint32_t rows, float scale,
            gpu::Tensor y);

// [rows, layers · P] each: P · h, √p · E_l[ids], and what becomes of them.
struct LayerInputs {
    gpu::Tensor context, tokens, inputs;
};
// inputs[t, l] = (rms(context[t, l] / √d) + tokens[t, l]) / √2
void join_layer_inputs(kernels::Program& program, const GpuModel& model, const LayerInputs& t, uint32_t rows);

// As below of rows that are there already: of an image or a sound. ids: of the tokens whose own inputs they have.
Embedded embed_soft(kernels::Program& program, GpuOps& ops, const GpuModel& model, const SessionTensors& t,
                    gpu::Tensor h, uint32_t rows);

// h = √d · E[ids]; inputs[t, l] = (rms(P · h / √d) + √p · E_l[ids]) / √2
Embedded embed(kernels::Program& program, GpuOps& ops, const GpuModel& model, const SessionTensors& t, uint32_t rows,
               GpuAdapters* adapters);

}  // namespace lapidary::infer
