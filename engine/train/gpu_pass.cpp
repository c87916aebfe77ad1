#include "train/gpu_pass.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "train/dropout.h"
#include "train/sequence.h"

namespace lapidary::train {

using lora::Target;

namespace {

constexpr uint32_t kNone = 0xFFFFFFFFu;
// Programs that are under way together: few enough to stop soon, enough for the GPU not to wait.
constexpr uint32_t kAhead = 4;

template <class T>
std::span<const uint8_t> bytes_of(const std::vector<T>& values) {
    return {reinterpret_cast<const uint8_t*>(values.data()), values.size() * sizeof(T)};
}

std::vector<float> joined(std::vector<float> a, const std::vector<float>& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
}

// A buffer that is bound as a whole.
Result<gpu::Binding> room(infer::GpuResources& resources, uint64_t bytes, std::string_view label) {
    const uint64_t most = resources.device().info().max_binding_bytes;
    if (bytes <= most) return resources.buffer(bytes, label);
    return fail(Code::out_of_memory, "'{}' of a sequence takes {}, and this GPU binds {} at most: ask for shorter ones",
                label, format_bytes(bytes), format_bytes(most));
}

// Queries whose scores exist at a time.
uint32_t query_block(const model::Config& config, uint32_t tokens, uint64_t most) {
    uint64_t heads = 1;
    for (const model::LayerConfig& layer : config.layers) heads = std::max<uint64_t>(heads, layer.heads);
    const uint64_t fits = most / (heads * tokens * sizeof(float)) / 64 * 64;
    return uint32_t(std::clamp<uint64_t>(fits, 64, tokens));
}

// Rows of the head whose logits exist at a time; whole tiles of the products, so that bindings can begin there.
uint32_t tile_rows(const model::Config& config, uint32_t tokens, uint64_t most) {
    const uint64_t fits = std::max<uint64_t>(most / (uint64_t(tokens) * sizeof(float)) / 64 * 64, 64);
    return uint32_t(std::min<uint64_t>(fits, (uint64_t(config.vocabulary) + 3) / 4 * 4));
}

}  // namespace

GpuPass::GpuPass(std::shared_ptr<infer::GpuModel> model, const Layout& layout, const std::vector<GpuNumbers>& numbers,
                 GpuPassOptions options)
    : model_(std::move(model)),
      layout_(layout),
      numbers_(numbers),
      options_(options),
      resources_(model_->device(), model_->choice().variant),
      words_(resources_) {
    // Whole tiles of tokens.
    options_.tokens = (std::max(options_.tokens, 1u) + 63) / 64 * 64;
    query_block_ = query_block(config(), tokens(), options_.score_bytes);
    tile_rows_ = tile_rows(config(), tokens(), options_.logit_bytes);
}

Result<std::unique_ptr<GpuPass>> GpuPass::create(std::shared_ptr<infer::GpuModel> model, const Layout& layout,
                                                 const std::vector<GpuNumbers>& numbers, GpuPassOptions options) {
    for (const model::LayerConfig& layer : model->config().layers) {
        if (layer.head_dim > 512 || layer.head_dim % 2 != 0) {
            return fail(Code::unsupported, "training on the GPU wants heads of an even number up to 512, not {}",
                        layer.head_dim);
        }
    }
    std::unique_ptr<GpuPass> pass(new GpuPass(std::move(model), layout, numbers, options));
    TRY(pass->allocate());
    return pass;
}

Status GpuPass::allocate() {
    const auto layers = uint32_t(config().layers.size());
    TRY(allocate_scratch());
    rates_ = TRY(infer::rope_rates(resources_, *model_));
    for (uint32_t i = 0; i <= layers; ++i) {
        h_.push_back(TRY(resources_.buffer(uint64_t(tokens()) * config().width * sizeof(float), "h")));
    }
    for (uint32_t i = 0; i < layers; ++i) {
        const model::LayerWeights& names = model_->table().layers[i];
        head_norms_.push_back(
            TRY(resources_.floats(joined(vector(names.attn_q_norm), vector(names.attn_k_norm)), "head norms")));
        const uint64_t bytes = uint64_t(tokens()) * 2 * config().layers[i].kv_width() * sizeof(float);
        const bool owns = config().owns_kv(i);
        kv_.push_back(owns ? TRY(resources_.buffer(bytes, "keys and values")) : Binding{});
        dkv_.push_back(owns ? TRY(resources_.buffer(bytes, "their gradients")) : Binding{});
    }
    if (options_.checkpointing) {
        tapes_.push_back(TRY(allocate_tape(0, layers)));
    } else {
        for (uint32_t i = 0; i < layers; ++i) tapes_.push_back(TRY(allocate_tape(i, i + 1)));
    }
    return {};
}

// Enough for each of the layers [first_layer, end_layer).
Result<GpuPass::Tape> GpuPass::allocate_tape(uint32_t first_layer, uint32_t end_layer) {
    uint64_t qkv = 0;
    uint64_t q = 0;
    uint64_t ffn = 0;
    bool moe_layer = false;
    std::array<uint64_t, kTargets> ranks{};
    for (uint32_t i = first_layer; i < end_layer; ++i) {
        const model::LayerConfig& layer = config().layers[i];
        qkv = std::max(qkv, qkv_stride(i));
        q = std::max<uint64_t>(q, layer.q_width());
        ffn = std::max<uint64_t>(ffn, layer.ffn);
        moe_layer = moe_layer || model_->table().layers[i].is_moe();
        for (const Slot& slot : layout_.slots()) {
            if (slot.layer == i)
                ranks[size_t(slot.target)] = std::max<uint64_t>(ranks[size_t(slot.target)], slot.shape.rank);
        }
    }
    const uint64_t d = config().width;
    const uint64_t p = config().per_layer_width;
    const auto rows = [&](uint64_t width, std::string_view label) {
        return room(resources_, width * tokens() * sizeof(float), label);
    };
    Tape t;
    t.xn = TRY(rows(d, "xn"));
    t.qkv = TRY(rows(qkv, "qkv"));
    t.q = TRY(rows(q, "q"));
    t.attended = TRY(rows(q, "attended"));
    t.o = TRY(rows(d, "o"));
    t.h1 = TRY(rows(d, "h1"));
    t.u = TRY(rows(d, "u"));
    t.gate_up = TRY(rows(2 * ffn, "gate and up"));
    t.ff = TRY(rows(ffn, "ff"));
    t.y = TRY(rows(d, "y"));
    if (p > 0) {
        t.h2 = TRY(rows(d, "h2"));
        t.gate = TRY(rows(p, "per-layer gate"));
        t.gated = TRY(rows(p, "per-layer gated"));
        t.projected = TRY(rows(d, "per-layer projected"));
    }
    if (moe_layer) {
        const model::ExpertConfig& moe = config().experts;
        t.router_in = TRY(rows(d, "router input"));
        t.router_logits = TRY(rows(moe.count, "router logits"));
        t.expert_ids = TRY(rows(moe.used, "experts chosen"));
        t.shares = TRY(rows(moe.used, "experts' shares"));
        t.lists = TRY(resources_.buffer(uint64_t(moe.count) * (tokens() + 1) * sizeof(uint32_t), "experts' slots"));
        t.expert_x = TRY(rows(d, "experts' input"));
        t.expert_gate_up = TRY(rows(uint64_t(moe.used) * 2 * moe.ffn, "experts' gate and up"));
        t.expert_ff = TRY(rows(uint64_t(moe.used) * moe.ffn, "experts' ff"));
        t.expert_out = TRY(rows(moe.used * d, "experts' output"));
        t.experts = TRY(rows(d, "experts"));
        t.dense = TRY(rows(d, "dense"));
        t.mixed = TRY(rows(d, "both"));
    }
    for (size_t i = 0; i < kTargets; ++i) {
        if (ranks[i] > 0) t.z[i] = TRY(rows(ranks[i], "z"));
    }
    return t;
}

Status GpuPass::allocate_scratch() {
    uint64_t qkv = 0;
    uint64_t q = 0;
    uint64_t ffn = 0;
    uint64_t heads = 0;
    uint64_t rank = 1;
    for (uint32_t i = 0; i < config().layers.size(); ++i) {
        const model::LayerConfig& layer = config().layers[i];
        qkv = std::max(qkv, qkv_stride(i));
        q = std::max<uint64_t>(q, layer.q_width());
        ffn = std::max<uint64_t>(ffn, layer.ffn);
        heads = std::max<uint64_t>(heads, layer.heads);
    }
    for (const Slot& slot : layout_.slots()) rank = std::max<uint64_t>(rank, slot.shape.rank);
    const uint64_t d = config().width;
    const uint64_t p = config().per_layer_width;
    const uint64_t all_p = p * config().layers.size();
    const auto rows = [&](uint64_t width, std::string_view label) {
        return room(resources_, width * tokens() * sizeof(float), label);
    };
    s_.step = TRY(resources_.buffer(16, "step"));
    s_.slot_step = TRY(resources_.buffer(16, "step of slots"));
    s_.head_step = TRY(resources_.buffer(16, "step of rows"));
    s_.ids = TRY(rows(1, "ids"));
    s_.places = TRY(rows(2, "places"));
    s_.rows = TRY(rows(1, "rows"));
    s_.places_of_rows = TRY(rows(1, "places of rows"));
    s_.targets = TRY(rows(2, "targets"));
    s_.sums = TRY(rows(4, "sums"));
    s_.drops = TRY(resources_.buffer(layout_.slots().size() * 16, "dropout"));
    s_.spare = TRY(resources_.buffer(256, "spare"));
    if (p > 0) {
        s_.context = TRY(rows(all_p, "per-layer context"));
        s_.token_inputs = TRY(rows(all_p, "per-layer token inputs"));
        s_.inputs = TRY(rows(all_p, "per-layer inputs"));
        s_.dgated = TRY(rows(p, "d per-layer gated"));
    }
    const uint64_t scores = heads * query_block_ * tokens() * sizeof(float);
    s_.scores = TRY(resources_.buffer(scores, "scores"));
    s_.dscores = TRY(resources_.buffer(scores, "d scores"));
    s_.parts = TRY(rows(infer::kSumParts * rank, "parts"));
    s_.gz = TRY(rows(rank, "gz"));
    s_.dh = TRY(rows(d, "dh"));
    s_.d1 = TRY(rows(d, "d1"));
    s_.d2 = TRY(rows(d, "d2"));
    s_.dq = TRY(rows(q, "dq"));
    s_.dqkv = TRY(rows(qkv, "dqkv"));
    s_.dff = TRY(rows(ffn, "dff"));
    s_.datt = TRY(rows(q, "d attended"));
    if (config().experts.count > 0) {
        s_.d3 = TRY(rows(d, "d3"));
        s_.ones = TRY(resources_.floats(std::vector<float>(size_t(tokens()) * config().experts.used, 1.0f), "ones"));
    }
    s_.picked = TRY(rows(d, "rows with a loss"));
    s_.normed = TRY(rows(d, "normed"));
    s_.logits = TRY(rows(tile_rows_, "logits"));
    s_.dnormed = TRY(rows(d, "d normed"));
    s_.dpicked = TRY(rows(d, "d rows"));
    return {};
}

void GpuPass::write(const Sequence& sequence, double divisor, Dropout dropout) {
    gpu::Device& device = resources_.device();
    const auto count = uint32_t(sequence.tokens.size());
    const auto put = [&](Binding to, std::span<const uint8_t> bytes) { device.write(to.buffer, to.offset, bytes); };
    std::vector<uint32_t> places;
    std::vector<uint32_t> rows;
    std::vector<uint32_t> places_of_rows(count, kNone);
    std::vector<uint32_t> targets;
    size_t example = 0;
    for (uint32_t t = 0; t < count; ++t) {
        if (example + 1 < sequence.starts.size() && t >= sequence.starts[example + 1]) ++example;
        const uint32_t start = sequence.starts[example];
        places.insert(places.end(), {t - start, start});
        if (sequence.weights[t] == 0 || t + 1 == count) continue;
        places_of_rows[t] = uint32_t(rows.size());
        rows.push_back(t);
        const auto weight = float(double(sequence.weights[t]) / (divisor > 0 ? divisor : 1));
        targets.insert(targets.end(), {uint32_t(sequence.tokens[t + 1]), std::bit_cast<uint32_t>(weight)});
    }
    counted_ = uint32_t(rows.size());
    put(s_.ids, bytes_of(sequence.tokens));
    put(s_.places, bytes_of(places));
    put(s_.places_of_rows, bytes_of(places_of_rows));
    if (counted_ > 0) {
        put(s_.rows, bytes_of(rows));
        put(s_.targets, bytes_of(targets));
    }
    put(s_.step, bytes_of(std::vector<uint32_t>{0, count, 0, 0}));
    put(s_.slot_step, bytes_of(std::vector<uint32_t>{0, count * config().experts.used, 0, 0}));
    put(s_.head_step, bytes_of(std::vector<uint32_t>{0, counted_, 0, 0}));
    std::vector<uint32_t> drops;
    for (uint32_t i = 0; i < layout_.slots().size(); ++i) {
        const DropoutKey key = dropout_key(dropout.seed, i);
        drops.insert(drops.end(), {key.x, key.y, std::bit_cast<uint32_t>(dropout.probability),
                                   std::bit_cast<uint32_t>(1 / (1 - dropout.probability))});
    }
    put(s_.drops, bytes_of(drops));
}

Task<Result<gpu::Id>> GpuPass::program(Key key) {
    if (const auto it = programs_.find(key); it != programs_.end()) co_return it->second;
    GpuRecorder recorder(resources_, {});
    switch (key.kind) {
        case Kind::inputs: record_inputs(recorder); break;
        case Kind::forward: record_layer(recorder, key.index, key.dropout); break;
        case Kind::backward: record_back(recorder, key.index, key.dropout); break;
        case Kind::head: record_head(recorder, key.index); break;
    }
    const gpu::Id id = CO_TRY(co_await recorder.finish());
    programs_.emplace(key, id);
    co_return id;
}

Task<Status> GpuPass::run_program(Key key, const Breathe& breathe) {
    resources_.device().run(CO_TRY(co_await program(key)));
    if (++running_ % kAhead == 0) CO_TRY(co_await resources_.device().sync({}));
    co_return breathe ? co_await breathe() : Status{};
}

Task<Result<double>> GpuPass::run(const Sequence& sequence, double divisor, Dropout dropout, const Breathe& breathe) {
    if (sequence.tokens.size() > tokens()) {
        co_return fail(Code::internal, "a sequence of {} tokens is longer than {}", sequence.tokens.size(), tokens());
    }
    const auto layers = uint32_t(config().layers.size());
    const bool drops = dropout.probability > 0;
    write(sequence, divisor, dropout);
    if (counted_ == 0) co_return 0.0;
    CO_TRY(co_await run_program({Kind::inputs, 0, false}, breathe));
    for (uint32_t i = 0; i < layers; ++i) CO_TRY(co_await run_program({Kind::forward, i, drops}, breathe));
    const auto tile_count = uint32_t(tiles().size());
    for (uint32_t i = 0; i < tile_count; ++i) CO_TRY(co_await run_program({Kind::head, i, false}, breathe));
    const auto bytes =
        CO_TRY(co_await resources_.device().read(s_.sums.buffer, 0, uint64_t(counted_) * 4 * sizeof(float), {}));
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
    for (uint32_t i = 0; i < tile_count; ++i) {
        CO_TRY(co_await run_program({Kind::head, tile_count + i, false}, breathe));
    }
    for (uint32_t i = layers; i-- > layout_.lowest_layer();) {
        // The last layer's tape is still that of the way through.
        if (options_.checkpointing && i + 1 < layers) CO_TRY(co_await run_program({Kind::forward, i, drops}, breathe));
        CO_TRY(co_await run_program({Kind::backward, i, drops}, breathe));
    }
    CO_TRY(co_await resources_.device().sync({}));
    co_return loss;
}

GpuMemory gpu_memory(const model::Config& config, const model::WeightTable& table, const lora::Adapter& adapter,
                     GpuPassOptions options) {
    GpuMemory out;
    uint64_t rank = 1;
    for (const lora::Update& update : adapter.updates) {
        out.adapter += uint64_t(update.rank) * (update.in + update.out) * sizeof(float) * 4;
        rank = std::max<uint64_t>(rank, update.rank);
    }
    const uint32_t tokens = (std::max(options.tokens, 1u) + 63) / 64 * 64;
    const uint64_t d = config.width;
    const uint64_t p = config.per_layer_width;
    const uint64_t slots = config.experts.used;
    uint64_t tapes = 0;  // floats a token
    uint64_t largest = 0;
    uint64_t q = 0;
    uint64_t ffn = 0;
    uint64_t heads = 0;
    uint64_t keys = 0;
    for (uint32_t i = 0; i < config.layers.size(); ++i) {
        const model::LayerConfig& layer = config.layers[i];
        const uint64_t own = config.owns_kv(i) ? 2 * uint64_t(layer.kv_width()) : 0;
        const uint64_t expert = table.layers[i].is_moe() ? 5 * d + 2 * config.experts.count +
                                                               slots * (2 + d + 3 * uint64_t(config.experts.ffn))
                                                         : 0;
        const uint64_t tape = 6 * d + own + 3 * uint64_t(layer.q_width()) + 3 * uint64_t(layer.ffn) + expert +
                              (p > 0 ? 2 * d + 2 * p : 0) + 9 * rank;
        tapes += tape;
        largest = std::max(largest, tape);
        q = std::max<uint64_t>(q, layer.q_width());
        ffn = std::max<uint64_t>(ffn, layer.ffn);
        heads = std::max<uint64_t>(heads, layer.heads);
        keys += 2 * own;
    }
    const uint64_t floats = (config.layers.size() + 1) * d + keys + (options.checkpointing ? largest : tapes) +
                            3 * p * config.layers.size() + p + 8 * d + 4 * q + ffn + 9 * rank +
                            tile_rows(config, tokens, options.logit_bytes) +
                            2 * heads * query_block(config, tokens, options.score_bytes) + 16;
    out.sequence = floats * tokens * sizeof(float);
    return out;
}

}  // namespace lapidary::train
