// What every program of training is recorded with, and the steps that both directions are made of, each a dispatch or a few.
#pragma once

#include <vector>

#include "infer/gpu_model.h"
#include "kernels/gemm/batched_gemm.h"
#include "kernels/gemm/gemm.h"
#include "kernels/program.h"
#include "kernels/train/gelu_gate.h"
#include "train/train_tensors.h"

namespace lapidary::train {

// Columns of longer rows, from `first` on.
struct Columns {
    gpu::Tensor rows;
    uint64_t first = 0;
};

struct Recording {
    kernels::Program& program;
    const infer::GpuModel& model;
    const TrainTensors& t;

    [[nodiscard]] const model::Config& config() const { return model.config(); }
    [[nodiscard]] std::vector<float> vector(const model::Weight& weight) const { return model.vector(weight); }
    [[nodiscard]] float output_scale(uint32_t layer) const;
    // What a layer's gate is multiplied with.
    [[nodiscard]] kernels::GateFactors per_layer_inputs(uint32_t layer) const;
    // What the router multiplies the residual stream with, once that is normed.
    [[nodiscard]] std::vector<float> router_norm(std::vector<float> router_scale) const;
    [[nodiscard]] kernels::GroupedRows expert_rows(gpu::Tensor lists, uint32_t share) const;
    [[nodiscard]] uint64_t expert_slots() const { return uint64_t{t.tokens} * config().experts.used; }

    // y = W · x
    void multiply(const kernels::Weights& w, gpu::Tensor x, Columns y) const;
    // dx = (dx) + Wᵀ · dy
    void multiply_backward(const kernels::Weights& w, Columns dy, gpu::Tensor dx, bool add) const;
    // The same for the rows that each expert has.
    void multiply_experts(const kernels::Weights& w, const kernels::GroupedRows& rows, gpu::Tensor x,
                          gpu::Tensor y) const;
    void multiply_experts_backward(const kernels::Weights& w, const kernels::GroupedRows& rows, gpu::Tensor dy,
                                   gpu::Tensor dx) const;

    // With the dropout of this step, should it have one.
    void multiply_batched(kernels::BatchedGemm op) const {
        op.drops = t.dropout;
        program.add(op);
    }

    struct Norm {
        gpu::Tensor base = {};  // empty: nothing is added to
        gpu::Tensor x;
        std::vector<float> weights;
        gpu::Tensor y;
        float scale = 1;
    };
    // y = (base + rms(x; weights)) · scale
    void norm(Norm n) const;
    struct NormBackward {
        gpu::Tensor x;
        std::vector<float> weights;
        gpu::Tensor dy, dx;
        bool add = false;  // to the dx that is there
        float scale = 1;
    };
    void norm_backward(NormBackward n) const;
};

}  // namespace lapidary::train
