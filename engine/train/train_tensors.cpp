#include "train/train_tensors.h"

#include <algorithm>

#include "kernels/gemm/batched_gemm.h"

namespace lapidary::train {
namespace {

// The largest layer of [first, end).
struct Widths {
    uint64_t qkv = 0, q = 0, ffn = 0, heads = 1;
    bool moe = false;
};

uint64_t qkv_width(const infer::GpuModel& model, uint32_t layer) {
    uint64_t width = 0;
    for (const kernels::Weights& matrix : model.layers[layer].qkv) width += matrix.rows;
    return width;
}

Widths widths_of(const infer::GpuModel& model, uint32_t first, uint32_t end) {
    Widths out;
    for (uint32_t i = first; i < end; ++i) {
        const model::LayerConfig& layer = model.config().layers[i];
        out.qkv = std::max(out.qkv, qkv_width(model, i));
        out.q = std::max<uint64_t>(out.q, layer.q_width());
        out.ffn = std::max<uint64_t>(out.ffn, layer.ffn);
        out.heads = std::max<uint64_t>(out.heads, layer.heads);
        out.moe = out.moe || model.table().layers[i].is_moe();
    }
    return out;
}

// Rows of tokens, bound as a whole.
Result<gpu::Tensor> token_rows(kernels::Resources& resources, uint32_t tokens, uint64_t width, std::string_view label) {
    const uint64_t bytes = width * tokens * sizeof(float);
    const uint64_t max = resources.device().info().max_binding_bytes;
    if (bytes <= max) return gpu::rows_in(TRY(resources.buffer(bytes, label)), tokens, uint32_t(width));
    return fail(Code::out_of_memory, "'{}' of a sequence takes {}, and this GPU binds {} at most: ask for shorter ones",
                label, format_bytes(bytes), format_bytes(max));
}

uint32_t query_block_of(uint64_t heads, uint32_t tokens, uint64_t max_bytes) {
    const uint64_t fits = max_bytes / (heads * tokens * sizeof(float)) / 64 * 64;
    return uint32_t(std::clamp<uint64_t>(fits, 64, tokens));
}

// Whole tiles of the products, so that bindings can begin there.
uint32_t tile_rows_of(uint32_t vocabulary, uint32_t tokens, uint64_t max_bytes) {
    const uint64_t fits = std::max<uint64_t>(max_bytes / (uint64_t(tokens) * sizeof(float)) / 64 * 64, 64);
    return uint32_t(std::min<uint64_t>(fits, (uint64_t(vocabulary) + 3) / 4 * 4));
}

}  // namespace

Result<SavedActivations> SavedActivations::create(kernels::Resources& resources, const infer::GpuModel& model,
                                                  const Layout& layout, uint32_t tokens, uint32_t first, uint32_t end) {
    const model::Config& config = model.config();
    const Widths most = widths_of(model, first, end);
    std::array<uint64_t, lora::kTargets> ranks{};
    for (const Slot& slot : layout.slots()) {
        uint64_t& rank = ranks[size_t(slot.target)];
        if (slot.layer >= first && slot.layer < end) rank = std::max<uint64_t>(rank, slot.shape.rank);
    }
    const uint64_t d = config.width;
    const auto rows = [&](uint64_t width, std::string_view label) {
        return token_rows(resources, tokens, width, label);
    };
    SavedActivations out;
    out.xn = TRY(rows(d, "xn"));
    out.qkv = TRY(rows(most.qkv, "qkv"));
    out.q = TRY(rows(most.q, "q"));
    out.attended = TRY(rows(most.q, "attended"));
    out.o = TRY(rows(d, "o"));
    out.h1 = TRY(rows(d, "h1"));
    out.u = TRY(rows(d, "u"));
    out.gate_up = TRY(rows(2 * most.ffn, "gate and up"));
    out.ff = TRY(rows(most.ffn, "ff"));
    out.y = TRY(rows(d, "y"));
    if (const uint64_t p = config.per_layer_width; p > 0) {
        out.h2 = TRY(rows(d, "h2"));
        out.gate = TRY(rows(p, "per-layer gate"));
        out.gated = TRY(rows(p, "per-layer gated"));
        out.projected = TRY(rows(d, "per-layer projected"));
    }
    if (most.moe) {
        const model::ExpertConfig& moe = config.experts;
        const uint64_t lists = uint64_t(moe.count) * (tokens + 1) * sizeof(uint32_t);
        out.router_in = TRY(rows(d, "router input"));
        out.router_logits = TRY(rows(moe.count, "router logits"));
        out.expert_ids = TRY(rows(moe.used, "experts chosen"));
        out.expert_weights = TRY(rows(moe.used, "experts' weights"));
        out.expert_lists.at = TRY(resources.buffer(lists, "experts' slots"));
        out.expert_x = TRY(rows(d, "experts' input"));
        out.expert_gate_up = TRY(rows(uint64_t(moe.used) * 2 * moe.ffn, "experts' gate and up"));
        out.expert_ff = TRY(rows(uint64_t(moe.used) * moe.ffn, "experts' ff"));
        out.expert_out = TRY(rows(moe.used * d, "experts' output"));
        out.experts = TRY(rows(d, "experts"));
        out.dense = TRY(rows(d, "dense"));
        out.mixed = TRY(rows(d, "both"));
    }
    for (size_t i = 0; i < ranks.size(); ++i) {
        if (ranks[i] > 0) out.z[i] = TRY(rows(ranks[i], "z"));
    }
    return out;
}

SavedActivations SavedActivations::of_layer(const infer::GpuModel& model, uint32_t layer) const {
    const model::LayerConfig& shape = model.config().layers[layer];
    SavedActivations out = *this;
    const auto set_width = [](gpu::Tensor& tensor, uint64_t width) {
        tensor = gpu::rows_in(tensor.at, tensor.rows, uint32_t(width));
    };
    set_width(out.qkv, qkv_width(model, layer));
    set_width(out.q, shape.q_width());
    set_width(out.attended, shape.q_width());
    set_width(out.gate_up, 2 * uint64_t(shape.ffn));
    set_width(out.ff, shape.ffn);
    return out;
}

Result<TrainTensors> TrainTensors::create(kernels::Resources& resources, const infer::GpuModel& model,
                                          const Layout& layout, uint32_t tokens, uint64_t score_bytes,
                                          uint64_t logit_bytes) {
    const model::Config& config = model.config();
    const auto layers = uint32_t(config.layers.size());
    const Widths most = widths_of(model, 0, layers);
    uint64_t rank = 1;
    for (const Slot& slot : layout.slots()) rank = std::max<uint64_t>(rank, slot.shape.rank);
    const uint64_t d = config.width;
    const auto rows = [&](uint64_t width, std::string_view label) {
        return token_rows(resources, tokens, width, label);
    };
    const auto words = [&](uint64_t bytes, std::string_view label) -> Result<gpu::Tensor> {
        return gpu::Tensor{.at = TRY(resources.buffer(bytes, label))};
    };
    TrainTensors out{.tokens = tokens,
                     .query_block = query_block_of(most.heads, tokens, score_bytes),
                     .tile_rows = tile_rows_of(config.vocabulary, tokens, logit_bytes)};
    out.step = TRY(words(16, "step"));
    out.slot_step = TRY(words(16, "step of slots"));
    out.head_step = TRY(words(16, "step of rows"));
    out.ids = TRY(rows(1, "ids"));
    out.position_ids = TRY(rows(2, "position ids"));
    out.rows = TRY(rows(1, "rows"));
    out.loss_rows = TRY(rows(1, "loss rows"));
    out.targets = TRY(rows(2, "targets"));
    out.sums = TRY(rows(4, "sums"));
    out.dropout = TRY(words(layout.slots().size() * 16, "dropout"));
    for (uint32_t i = 0; i <= layers; ++i) out.h.push_back(TRY(rows(d, "h")));
    if (const uint64_t p = config.per_layer_width; p > 0) {
        out.context = TRY(rows(p * layers, "per-layer context"));
        out.token_inputs = TRY(rows(p * layers, "per-layer token inputs"));
        out.inputs = TRY(rows(p * layers, "per-layer inputs"));
        out.dgated = TRY(rows(p, "d per-layer gated"));
    }
    const uint64_t scores = most.heads * out.query_block * tokens * sizeof(float);
    out.scores = TRY(words(scores, "scores"));
    out.dscores = TRY(words(scores, "d scores"));
    out.partials = TRY(rows(kernels::kPartialSums * rank, "partial sums"));
    out.dz = TRY(rows(rank, "d z"));
    out.dh = TRY(rows(d, "d h"));
    out.d1 = TRY(rows(d, "d 1"));
    out.d2 = TRY(rows(d, "d 2"));
    out.dq = TRY(rows(most.q, "d q"));
    out.dqkv = TRY(rows(most.qkv, "d qkv"));
    out.dff = TRY(rows(most.ffn, "d ff"));
    out.dattended = TRY(rows(most.q, "d attended"));
    if (config.experts.count > 0) {
        out.d3 = TRY(rows(d, "d 3"));
        out.ones.at = TRY(resources.floats(std::vector<float>(size_t(tokens) * config.experts.used, 1.0f), "ones"));
    }
    out.picked = TRY(rows(d, "rows with a loss"));
    out.normed = TRY(rows(d, "normed"));
    out.logits = TRY(rows(out.tile_rows, "logits"));
    out.dnormed = TRY(rows(d, "d normed"));
    out.dpicked = TRY(rows(d, "d rows"));
    for (uint32_t i = 0; i < layers; ++i) {
        out.head_norms.push_back({.at = TRY(resources.floats(model.head_norms(i), "head norms"))});
        const uint64_t width = 2 * uint64_t(config.layers[i].kv_width());
        const bool owns = config.owns_kv(i);
        out.kv.push_back(owns ? TRY(rows(width, "keys and values")) : gpu::Tensor{});
        out.dkv.push_back(owns ? TRY(rows(width, "their gradients")) : gpu::Tensor{});
    }
    out.frequencies = TRY(infer::rope_frequencies(resources, model));
    return out;
}

}  // namespace lapidary::train
