// What a session has on the GPU beyond one program, one tensor a line with its shape. What a program only needs while it runs
// is scratch (kernels/arena.h).
#pragma once

#include <vector>

#include "infer/gpu_model.h"
#include "infer/rope_frequencies.h"
#include "kernels/attention/kv_view.h"
#include "kernels/resources.h"

namespace lapidary::infer {

// Tokens that go through the layers together, at most.
inline constexpr uint32_t kMaxBlock = 512;
// Rows of logits computed together, at most.
inline constexpr uint32_t kLogitRows = 16;

struct SessionTensors {
    static Result<SessionTensors> create(kernels::Resources& resources, const GpuModel& model, uint32_t context);

    // What a run is about.
    gpu::Tensor step;        // position, tokens
    gpu::Tensor ids;         // [512]
    gpu::Tensor table_rows;  // [512, layers · P] in the table's format, where the table is not on the GPU
    gpu::Tensor row_ids;     // [512] 0, 1, 2, …: those rows are in the order of the tokens

    gpu::Tensor zeros;  // [1, d]
    gpu::Tensor xn;     // [512, d] the normed stream behind the last layer: what the head reads

    // From logits to a token.
    gpu::Tensor logits;      // [16, vocabulary]
    gpu::Tensor best;        // [slices] of (logit, -id)
    gpu::Tensor history;     // [context + 2] the tokens by position
    gpu::Tensor sampling;    // as sampling.wgsl has it
    gpu::Tensor biases;      // [1024] of (token, bias)
    gpu::Tensor mask;        // [vocabulary] bits
    gpu::Tensor bins;        // [2048 + 1]
    gpu::Tensor candidates;  // [1024] of (logit, token)

    // Positions.
    RopeFrequencies frequencies;

    // By layer.
    std::vector<gpu::Tensor> head_norms;  // q's, then k's
    std::vector<kernels::KvView> kv;      // empty where a layer has none of its own
};

// Of one token's attention in a layer.
uint32_t max_splits(const model::Config& config, uint32_t layer, uint32_t context);

}  // namespace lapidary::infer
