// What training has on the GPU, one tensor a line with its shape. T: the tokens of the longest sequence, whole tiles of them.
// Buffers are as large as the largest layer needs them.
#pragma once

#include <array>
#include <vector>

#include "infer/gpu_model.h"
#include "infer/rope_frequencies.h"
#include "kernels/resources.h"
#include "train/parameters.h"

namespace lapidary::train {

// Of all layers' LoRA parameters those of one layer, each of these [count]; empty without updates.
struct LoraBuffers {
    gpu::Tensor values, gradients, first_moments, second_moments;
    size_t begin = 0;  // where they begin among those of all layers
    size_t count = 0;
};

// What a layer computes on its way and needs again on the way back.
struct SavedActivations {
    // Enough for each of the layers [first, end).
    static Result<SavedActivations> create(kernels::Resources& resources, const infer::GpuModel& model,
                                           const Layout& layout, uint32_t tokens, uint32_t first, uint32_t end);
    // The same in the shapes of one of them.
    [[nodiscard]] SavedActivations of_layer(const infer::GpuModel& model, uint32_t layer) const;

    gpu::Tensor xn;         // [T, d] rms(h; attn_norm)
    gpu::Tensor qkv;        // [T, q + k + v]
    gpu::Tensor q;          // [T, q] normed and rotated
    gpu::Tensor attended;   // [T, q]
    gpu::Tensor o;          // [T, d]
    gpu::Tensor h1;         // [T, d] the residual stream behind attention
    gpu::Tensor u;          // [T, d] rms(h1; ffn_norm)
    gpu::Tensor gate_up;    // [T, 2 · ffn]
    gpu::Tensor ff;         // [T, ffn]
    gpu::Tensor y;          // [T, d]
    gpu::Tensor h2;         // [T, d] the residual stream behind the feed-forward network, with per-layer inputs
    gpu::Tensor gate;       // [T, P]
    gpu::Tensor gated;      // [T, P]
    gpu::Tensor projected;  // [T, d]

    gpu::Tensor router_in;       // [T, d]
    gpu::Tensor router_logits;   // [T, experts]
    gpu::Tensor expert_ids;      // [T, used]
    gpu::Tensor expert_weights;  // [T, used]
    gpu::Tensor expert_lists;    // [experts, T + 1]
    gpu::Tensor expert_x;        // [T, d]
    gpu::Tensor expert_gate_up;  // [T, used, 2 · expert ffn]
    gpu::Tensor expert_ff;       // [T, used, expert ffn]
    gpu::Tensor expert_out;      // [T, used, d]
    gpu::Tensor experts;         // [T, d]
    gpu::Tensor dense;           // [T, d] the dense branch, normed
    gpu::Tensor mixed;           // [T, d] both branches

    std::array<gpu::Tensor, lora::kTargets> z;  // [T, rank] A · x of each update
};

struct TrainTensors {
    // score_bytes, logit_bytes: what the scores of a block of queries, and the logits of a tile of the vocabulary, may take.
    static Result<TrainTensors> create(kernels::Resources& resources, const infer::GpuModel& model,
                                       const Layout& layout, uint32_t tokens, uint64_t score_bytes,
                                       uint64_t logit_bytes);

    uint32_t tokens = 0;       // T
    uint32_t query_block = 0;  // queries whose scores exist at a time
    uint32_t tile_rows = 0;    // of the vocabulary, whose logits exist at a time

    // What a sequence is about.
    gpu::Tensor step;          // position, tokens
    gpu::Tensor slot_step;     // the same for slots of experts,
    gpu::Tensor head_step;     // and for the rows with a loss
    gpu::Tensor ids;           // [T]
    gpu::Tensor position_ids;  // [T] the position in its example, and the row where that begins
    gpu::Tensor rows;          // [T] the rows with a loss
    gpu::Tensor loss_rows;     // [T] of each row its place among them, or that it has none
    gpu::Tensor targets;       // [T] of each row with a loss a token and its weight
    gpu::Tensor sums;          // [T] of each row with a loss what cross_entropy.wgsl leaves
    gpu::Tensor dropout;       // [updates] key, probability, what the others are enlarged by

    // The way through.
    std::vector<gpu::Tensor> h;  // [layers + 1][T, d] what each layer gets, and what the last one gives
    gpu::Tensor context;         // [T, layers · P]
    gpu::Tensor token_inputs;    // [T, layers · P]
    gpu::Tensor inputs;          // [T, layers · P]
    gpu::Tensor scores;          // [heads, query block, T]
    gpu::Tensor partials;        // [partial sums, T, rank]

    // The way back: gradients by what they are named after.
    gpu::Tensor dh;         // [T, d] what the layer above has left, times this layer's output scale
    gpu::Tensor d1;         // [T, d] and these three by whatever is needed for a moment
    gpu::Tensor d2;         // [T, d]
    gpu::Tensor d3;         // [T, d]
    gpu::Tensor dq;         // [T, q]
    gpu::Tensor dqkv;       // [T, q + k + v]
    gpu::Tensor dff;        // [T, ffn]
    gpu::Tensor dgated;     // [T, P]
    gpu::Tensor dattended;  // [T, q]
    gpu::Tensor dscores;    // [heads, query block, T]
    gpu::Tensor dz;         // [T, rank]
    gpu::Tensor ones;       // [T, used] the weights of experts whose gradients are only added up

    // The head.
    gpu::Tensor picked;   // [T, d] of h the rows with a loss
    gpu::Tensor normed;   // [T, d]
    gpu::Tensor logits;   // [T, tile rows]
    gpu::Tensor dnormed;  // [T, d]
    gpu::Tensor dpicked;  // [T, d]

    // By layer.
    std::vector<gpu::Tensor> head_norms;  // q's, then k's
    std::vector<gpu::Tensor> kv, dkv;     // [T, keys then values] of layers that own theirs

    infer::RopeFrequencies frequencies;
};

}  // namespace lapidary::train
