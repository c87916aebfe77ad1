#include "train/gpu_pass.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "infer/embedding.h"
#include "train/dropout.h"
#include "train/gpu_backward.h"
#include "train/sequence.h"
#include "train/train_ops.h"

namespace lapidary::train {
namespace {

constexpr uint32_t kNoRow = 0xFFFFFFFFu;
// Programs that are under way together: few enough to stop soon, enough for the GPU not to wait.
constexpr uint32_t kProgramsAhead = 4;

template <class T>
std::span<const uint8_t> bytes_of(const std::vector<T>& values) {
    return {reinterpret_cast<const uint8_t*>(values.data()), values.size() * sizeof(T)};
}

}  // namespace

GpuPass::GpuPass(gpu::Device& device, std::shared_ptr<infer::GpuModel> model, const Layout& layout,
                 const std::vector<LoraBuffers>& lora, GpuPassOptions options)
    : model_(std::move(model)),
      layout_(layout),
      lora_(lora),
      options_(options),
      resources_(device, model_->choice().variant),
      source_{.config = model_->config(),
              .table = model_->table(),
              .vector = [model = model_.get()](const model::Weight& weight) { return model->vector(weight); }} {}

Result<std::unique_ptr<GpuPass>> GpuPass::create(gpu::Device& device, std::shared_ptr<infer::GpuModel> model,
                                                 const Layout& layout, const std::vector<LoraBuffers>& lora,
                                                 GpuPassOptions options) {
    for (const model::LayerConfig& layer : model->config().layers) {
        if (layer.head_dim > 512 || layer.head_dim % 2 != 0) {
            return fail(Code::unsupported, "training on the GPU wants heads of an even number up to 512, not {}",
                        layer.head_dim);
        }
    }
    std::unique_ptr<GpuPass> pass(new GpuPass(device, std::move(model), layout, lora, options));
    TRY(pass->allocate());
    return pass;
}

Status GpuPass::allocate() {
    const auto layers = uint32_t(config().layers.size());
    const uint32_t tokens = (std::max(options_.tokens, 1u) + 63) / 64 * 64;  // whole tiles
    t_ = TRY(TrainTensors::create(resources_, *model_, layout_, tokens, options_.score_bytes, options_.logit_bytes));
    const uint32_t shared = options_.checkpointing ? layers : 1;  // layers that share what they save
    for (uint32_t i = 0; i < layers; i += shared) {
        saved_.push_back(TRY(SavedActivations::create(resources_, *model_, layout_, tokens, i, i + shared)));
    }
    head_ = std::make_unique<GpuHead>(*model_, t_);
    pass_.context = tokens;
    for (const gpu::Tensor& kv : t_.kv) pass_.kv.push_back({.k = kv});  // the values stand beside the keys
    return {};
}

void GpuPass::write(const Sequence& sequence, double divisor, Dropout dropout) {
    gpu::Device& device = resources_.device();
    const auto count = uint32_t(sequence.tokens.size());
    const auto put = [&](const gpu::Tensor& to, std::span<const uint8_t> bytes) {
        device.write(to.at.buffer, to.at.offset, bytes);
    };
    std::vector<uint32_t> position_ids;
    std::vector<uint32_t> rows;
    std::vector<uint32_t> loss_rows(count, kNoRow);
    std::vector<uint32_t> targets;
    size_t example = 0;
    for (uint32_t t = 0; t < count; ++t) {
        if (example + 1 < sequence.starts.size() && t >= sequence.starts[example + 1]) ++example;
        const uint32_t start = sequence.starts[example];
        position_ids.insert(position_ids.end(), {t - start, start});
        if (sequence.weights[t] == 0 || t + 1 == count) continue;
        loss_rows[t] = uint32_t(rows.size());
        rows.push_back(t);
        const auto weight = float(double(sequence.weights[t]) / (divisor > 0 ? divisor : 1));
        targets.insert(targets.end(), {uint32_t(sequence.tokens[t + 1]), std::bit_cast<uint32_t>(weight)});
    }
    counted_ = uint32_t(rows.size());
    put(t_.ids, bytes_of(sequence.tokens));
    put(t_.position_ids, bytes_of(position_ids));
    put(t_.loss_rows, bytes_of(loss_rows));
    if (counted_ > 0) {
        put(t_.rows, bytes_of(rows));
        put(t_.targets, bytes_of(targets));
    }
    put(t_.step, bytes_of(std::vector<uint32_t>{0, count, 0, 0}));
    put(t_.slot_step, bytes_of(std::vector<uint32_t>{0, count * config().experts.used, 0, 0}));
    put(t_.head_step, bytes_of(std::vector<uint32_t>{0, counted_, 0, 0}));
    std::vector<uint32_t> dropout_state;
    for (uint32_t i = 0; i < layout_.slots().size(); ++i) {
        const DropoutKey key = dropout_key(dropout.seed, i);
        dropout_state.insert(dropout_state.end(), {key.x, key.y, std::bit_cast<uint32_t>(dropout.probability),
                                                   std::bit_cast<uint32_t>(1 / (1 - dropout.probability))});
    }
    put(t_.dropout, bytes_of(dropout_state));
}

void GpuPass::record_inputs(const Recording& r) const {
    infer::gather(r.program, model_->token_embd, t_.ids, t_.tokens, std::sqrt(float(config().width)), t_.h[0]);
    const uint32_t p = config().per_layer_width;
    if (p == 0) return;
    if (model_->per_layer_rows != nullptr) {
        return r.program.refuse(Code::unsupported,
                                "training needs the table of per-layer embeddings on the GPU, where it was "
                                "not loaded: give it more memory, or train on the CPU");
    }
    infer::gather(r.program, model_->per_layer_token_embd, t_.ids, t_.tokens, std::sqrt(float(p)), t_.token_inputs);
    r.multiply(model_->per_layer_model_proj, t_.h[0], {.rows = t_.context});
    infer::join_layer_inputs(r.program, *model_,
                             {.context = t_.context, .tokens = t_.token_inputs, .inputs = t_.inputs}, t_.tokens);
}

void GpuPass::record_layer(const Recording& r, Key key) const {
    const uint32_t i = key.index;
    const SavedActivations saved = saved_[options_.checkpointing ? 0 : i].of_layer(*model_, i);
    const LoraDeltas deltas(r, layout_, lora_[i], i, saved.z, key.dropout);
    const infer::TransformerLayer layer(source_, i);
    if (key.kind == Kind::backward) return LayerBackward(r, deltas, saved, layer.heads(pass_)).run();
    TrainOps ops(r, deltas, saved);
    infer::Residual h(ops, t_.h[i]);
    layer.run(ops, h, pass_);
    h.make(h.plain(), t_.h[i + 1]);
}

Task<Result<gpu::Id>> GpuPass::program(Key key) {
    if (const auto it = programs_.find(key); it != programs_.end()) co_return it->second;
    // Of the head's rows only those with a loss are computed.
    const bool head = key.kind == Kind::loss || key.kind == Kind::gradient;
    kernels::Program program(resources_, head ? t_.head_step : t_.step, {});
    const Recording r{.program = program, .model = *model_, .t = t_};
    switch (key.kind) {
        case Kind::inputs: record_inputs(r); break;
        case Kind::forward:
        case Kind::backward: record_layer(r, key); break;
        case Kind::loss: head_->record_loss(r, key.index); break;
        case Kind::gradient: head_->record_gradient(r, key.index); break;
    }
    const gpu::Id id = CO_TRY(co_await program.compile());
    programs_.emplace(key, id);
    co_return id;
}

Task<Status> GpuPass::run_program(Key key, const Breathe& breathe) {
    resources_.device().run(CO_TRY(co_await program(key)));
    if (++running_ % kProgramsAhead == 0) CO_TRY(co_await resources_.device().sync({}));
    co_return breathe ? co_await breathe() : Status{};
}

Task<Result<double>> GpuPass::run(const Sequence& sequence, double divisor, Dropout dropout, const Breathe& breathe) {
    if (sequence.tokens.size() > tokens()) {
        co_return fail(Code::internal, "a sequence of {} tokens is longer than {}", sequence.tokens.size(), tokens());
    }
    const auto layers = uint32_t(config().layers.size());
    const bool has_dropout = dropout.probability > 0;
    write(sequence, divisor, dropout);
    if (counted_ == 0) co_return 0.0;
    CO_TRY(co_await run_program({Kind::inputs, 0, false}, breathe));
    for (uint32_t i = 0; i < layers; ++i) CO_TRY(co_await run_program({Kind::forward, i, has_dropout}, breathe));
    const uint32_t tiles = head_->tiles();
    for (uint32_t i = 0; i < tiles; ++i) CO_TRY(co_await run_program({Kind::loss, i, false}, breathe));
    const auto bytes =
        CO_TRY(co_await resources_.device().read(t_.sums.at.buffer, 0, uint64_t(counted_) * 4 * sizeof(float), {}));
    double loss = 0;
    size_t row = 0;
    for (size_t t = 0; t + 1 < sequence.tokens.size(); ++t) {
        if (sequence.weights[t] == 0) continue;
        std::array<float, 4> sums{};
        std::memcpy(sums.data(), bytes.data() + row * sizeof(sums), sizeof(sums));
        loss += double(sequence.weights[t]) * (double(sums[0]) + std::log(double(sums[1])) - double(sums[2]));
        ++row;
    }
    // What is not a number stays one; whoever asked for the loss stops, and the gradients are as they were.
    if (divisor <= 0 || !std::isfinite(loss)) co_return loss;
    for (uint32_t i = 0; i < tiles; ++i) CO_TRY(co_await run_program({Kind::gradient, i, false}, breathe));
    for (uint32_t i = layers; i-- > layout_.lowest_layer();) {
        // What the last layer has saved on the way through is still there.
        if (options_.checkpointing && i + 1 < layers)
            CO_TRY(co_await run_program({Kind::forward, i, has_dropout}, breathe));
        CO_TRY(co_await run_program({Kind::backward, i, has_dropout}, breathe));
    }
    CO_TRY(co_await resources_.device().sync({}));
    co_return loss;
}

}  // namespace lapidary::train
