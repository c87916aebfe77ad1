#include "infer/session_tensors.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "base/checked.h"
#include "kernels/sample/sampling_ops.h"
#include "model/memory.h"

namespace lapidary::infer {
namespace {

constexpr uint32_t kMaxBiases = 1024;
constexpr uint32_t kSamplingBins = 2048;  // as sampling.wgsl has them
constexpr uint32_t kCandidates = 1024;

// A layer's keys and values; fails where they do not fit into one binding.
Result<kernels::KvView> allocate_kv(kernels::Resources& resources, const model::Config& config,
                                    const model::LayerConfig& layer, uint32_t context) {
    const KvFormat format = resources.variant().kv;
    // A sliding layer keeps its window and one block: the block's writes must not reach what it still reads.
    kernels::KvView out{.ring = layer.sliding ? std::min(context, config.sliding_window + kMaxBlock) : context};
    const KvRow row = kv_row(format, layer.head_dim);
    const uint64_t bytes = uint64_t(out.ring) * layer.kv_heads * (row.bytes + row.scale_bytes);
    const uint64_t most = resources.device().info().max_binding_bytes;
    if (bytes > most) {
        return fail(Code::out_of_memory,
                    "a context of {} tokens needs {} in one piece for keys as {}; this GPU binds {} at most: ask for a "
                    "shorter one or a smaller format",
                    context, format_bytes(bytes), kv_format_name(format), format_bytes(most));
    }
    out.k.at = TRY(resources.buffer(bytes, "K cache"));
    out.v.at = TRY(resources.buffer(bytes, "V cache"));
    return out;
}

}  // namespace

uint32_t max_splits(const model::Config& config, uint32_t layer, uint32_t context) {
    constexpr uint32_t kMost = 64;
    const uint32_t keys = config.layers[layer].sliding ? std::min(config.sliding_window, context) : context;
    // As attention_splits in common.wgsl has it; even, because their numbers are read two at a time.
    return std::min(kMost, ceil_div(keys, 128) * 2);
}

Result<SessionTensors> SessionTensors::create(kernels::Resources& resources, const GpuModel& model, uint32_t context) {
    const model::Config& config = model.config();
    const uint32_t d = config.width;
    const auto tensor = [&](std::string_view label, uint32_t rows, uint64_t cols) -> Result<gpu::Tensor> {
        return gpu::rows_in(TRY(resources.buffer(rows * cols * sizeof(float), label)), rows, uint32_t(cols));
    };
    const auto block = [&](std::string_view label, uint64_t cols) { return tensor(label, kMaxBlock, cols); };
    SessionTensors t;
    t.step = TRY(tensor("step", 1, 4));
    t.ids = TRY(block("ids", 1));
    if (model.per_layer_rows != nullptr) {
        const kernels::Weights& table = model.per_layer_token_embd;
        t.table_rows.at =
            TRY(resources.buffer(kernels::gpu_bytes(table.format, kMaxBlock, table.cols), "per-layer rows"));
        t.row_ids = TRY(block("row ids", 1));
        std::array<uint32_t, kMaxBlock> ids{};
        std::iota(ids.begin(), ids.end(), 0);
        resources.device().write(t.row_ids.at.buffer, 0, {reinterpret_cast<const uint8_t*>(ids.data()), sizeof(ids)});
    }
    t.zeros = TRY(tensor("zeros", 1, d));
    t.xn = TRY(block("xn", d));
    t.logits = TRY(tensor("logits", kLogitRows, config.vocabulary));
    t.best = TRY(tensor("argmax", kernels::kMaxVocabularySlices, 2));
    t.history = TRY(tensor("history", 1, context + 2));
    t.sampling = TRY(tensor("sampling", 1, 12));
    t.biases = TRY(tensor("biases", kMaxBiases, 2));
    t.mask = TRY(tensor("mask", 1, ceil_div(config.vocabulary, 32)));
    t.bins = TRY(tensor("bins", 1, kSamplingBins + 1));
    t.candidates = TRY(tensor("candidates", kCandidates, 2));

    t.frequencies = TRY(rope_frequencies(resources, model));
    for (uint32_t i = 0; i < config.layers.size(); ++i) {
        t.kv.push_back(config.owns_kv(i) ? TRY(allocate_kv(resources, config, config.layers[i], context))
                                         : kernels::KvView{});
        t.head_norms.push_back({.at = TRY(resources.floats(model.head_norms(i), "head norms"))});
    }
    return t;
}

}  // namespace lapidary::infer
