#include "train/cpu_backend.h"

#include <algorithm>
#include <cmath>

#include "train/cpu_pass.h"
#include "train/optimizer.h"
#include "train/sequence.h"

namespace lapidary::train {

Result<std::unique_ptr<CpuBackend>> CpuBackend::create(std::shared_ptr<const model::Config> config,
                                                       std::shared_ptr<const model::WeightTable> table,
                                                       std::shared_ptr<const reference::Weights> weights,
                                                       const lora::Adapter& adapter, CpuOptions options) {
    Layout layout = TRY(Layout::of(adapter, *table));
    reference::SmallWeights small = reference::decode_small(*config, *table, *weights);
    return std::unique_ptr<CpuBackend>(
        new CpuBackend({std::move(config), std::move(table), std::move(weights), std::move(small)}, std::move(layout),
                       adapter, options));
}

CpuBackend::CpuBackend(CpuModel model, Layout layout, const lora::Adapter& adapter, CpuOptions options)
    : model_(std::move(model)),
      layout_(std::move(layout)),
      options_(options),
      name_(adapter.name),
      base_model_(adapter.base_model),
      alpha_(adapter.alpha),
      shared_(model_.config->layers.size()),
      parameters_(layout_.flatten(adapter)),
      gradients_(layout_.size()),
      moments_{.first = std::vector<float>(layout_.size()), .second = std::vector<float>(layout_.size())} {
    for (uint32_t layer = 0; layer < shared_.size(); ++layer) {
        if (!model_.config->owns_kv(layer)) shared_[model_.config->layers[layer].kv_layer] = true;
    }
}

Task<Result<double>> CpuBackend::evaluate(const Sequence& sequence, Breathe breathe) {
    CO_TRY(check(sequence, model_.config->vocabulary));
    CpuPass pass(model_, {.layout = &layout_, .parameters = parameters_, .gradients = {}, .dropout = {}}, sequence);
    std::vector<float> h = pass.embeddings();
    pass.prepare(h);
    for (uint32_t layer = 0; layer < shared_.size(); ++layer) {
        (void)pass.forward(layer, h);
        if (!shared_[layer]) pass.forget_keys(layer);
        if (breathe) CO_TRY(co_await breathe());
    }
    co_return co_await pass.loss(h, 1, {}, breathe);
}

Task<Result<double>> CpuBackend::accumulate(const Sequence& sequence, double divisor, Dropout dropout,
                                            Breathe breathe) {
    CO_TRY(check(sequence, model_.config->vocabulary));
    if (!(divisor > 0)) co_return fail(Code::invalid_argument, "the weights of a step must add up to more than 0");
    const auto layers = uint32_t(shared_.size());
    const uint32_t lowest = layout_.lowest_layer();
    CpuPass pass(model_, {.layout = &layout_, .parameters = parameters_, .gradients = gradients_, .dropout = dropout},
                 sequence);
    std::vector<CpuSavedActivations> saved(layers);
    std::vector<float> h = pass.embeddings();
    pass.prepare(h);
    for (uint32_t layer = 0; layer < layers; ++layer) {
        CpuSavedActivations found = pass.forward(layer, h);
        if (layer >= lowest && options_.checkpointing) saved[layer].h = std::move(found.h);
        if (layer >= lowest && !options_.checkpointing) saved[layer] = std::move(found);
        // Where the layer is computed again its keys and values come again too, unless others need them first.
        if (!shared_[layer] && (layer < lowest || options_.checkpointing)) pass.forget_keys(layer);
        if (breathe) CO_TRY(co_await breathe());
    }
    std::vector<float> dh(h.size());
    const double loss = CO_TRY(co_await pass.loss(h, divisor, dh, breathe));
    for (uint32_t layer = layers; layer-- > lowest;) {
        if (options_.checkpointing) {
            h = std::move(saved[layer].h);
            saved[layer] = pass.forward(layer, h);
        }
        pass.backward(layer, saved[layer], dh);
        saved[layer] = {};
        if (breathe) CO_TRY(co_await breathe());
    }
    co_return loss;
}

Task<Result<double>> CpuBackend::step(const AdamW& adamw) {
    const double norm = adamw_step(adamw, gradients_, moments_, parameters_);
    forget_gradients();
    co_return norm;
}

void CpuBackend::forget_gradients() {
    std::ranges::fill(gradients_, 0.0f);
}

Task<Result<lora::Adapter>> CpuBackend::adapter() {
    co_return lora::Adapter{
        .name = name_, .base_model = base_model_, .alpha = alpha_, .updates = layout_.unflatten(parameters_)};
}

Task<Result<std::vector<lora::Update>>> CpuBackend::gradients() {
    co_return layout_.unflatten(gradients_);
}

Task<Result<Moments>> CpuBackend::moments() {
    co_return moments_;
}

Task<Status> CpuBackend::restore(const lora::Adapter& adapter, const Moments& moments) {
    if (!layout_.same(adapter) || moments.first.size() != layout_.size() || moments.second.size() != layout_.size()) {
        co_return fail(Code::invalid_argument, "what is to be restored belongs to an adapter of another shape");
    }
    parameters_ = layout_.flatten(adapter);
    moments_ = moments;
    forget_gradients();
    co_return Status{};
}

CpuMemory cpu_memory(const model::Config& config, const model::WeightTable& table, const lora::Adapter& adapter,
                     uint32_t tokens, CpuOptions options) {
    CpuMemory out;
    for (const lora::Update& update : adapter.updates) {
        // The numbers, their gradients, two moments.
        out.adapter += uint64_t(update.rank) * (update.in + update.out) * sizeof(float) * 4;
    }
    const uint64_t d = config.width;
    const uint64_t p = config.per_layer_width;
    uint64_t kept = p * config.layers.size();  // floats a token
    uint64_t largest_layer = 0;
    uint64_t largest_work = 0;
    for (uint32_t i = 0; i < config.layers.size(); ++i) {
        const model::LayerConfig& layer = config.layers[i];
        const uint64_t own = config.owns_kv(i) ? 4 * uint64_t(layer.kv_width()) : 0;  // raw and finished
        const uint64_t saved = 4 * d + 2 * uint64_t(layer.q_width()) + own + 2 * uint64_t(layer.ffn) +
                               (table.layers[i].is_moe() ? d : 0) + (p > 0 ? 2 * d + p : 0);
        kept += options.checkpointing ? d + own / 2 : saved;
        largest_layer = std::max(largest_layer, saved);
        // The gradients of what is widest in a layer, and of the residual stream.
        largest_work = std::max(largest_work, 3 * std::max<uint64_t>(layer.ffn, layer.q_width()) + 6 * d);
    }
    out.sequence = (kept + largest_work + (options.checkpointing ? largest_layer : 0)) * tokens * sizeof(float) +
                   std::max<uint64_t>(uint64_t{16} << 20, uint64_t(config.vocabulary) * 16);
    return out;
}

}  // namespace lapidary::train
