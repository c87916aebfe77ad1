#include "reference/forward.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/edition.h"
#include "model/memory.h"
#include "reference/canvas.h"
#include "reference/ops.h"

namespace lapidary::reference {

using lora::Target;

namespace {

// Tokens that go through the layers together. Each weight row is decoded once a block, so larger is faster; the
// activations of 32 tokens of a 2,560-wide model still fit into a level-2 cache.
constexpr size_t kBlock = 32;
// Bytes of the state that are handed out at a time.
constexpr size_t kStatePiece = size_t{1} << 20;

}  // namespace

Forward::Forward(std::shared_ptr<const model::Config> config, std::shared_ptr<const model::WeightTable> table,
                 std::shared_ptr<const Weights> weights, uint32_t context)
    : config_(std::move(config)),
      table_(std::move(table)),
      weights_(std::move(weights)),
      context_(context),
      cache_(*config_) {
    SmallWeights small = decode_small(*config_, *table_, *weights_);
    vectors_ = std::move(small.layers);
    output_norm_ = std::move(small.output_norm);
    per_layer_proj_norm_ = std::move(small.per_layer_proj_norm);
    rope_full_ = std::move(small.rope_full);
    rope_sliding_ = std::move(small.rope_sliding);
    self_conditioning_norm_ = std::move(small.self_conditioning_norm);
    if (has_everything() && config_->diffusion) canvas_ = std::make_unique<Canvas>(*this);
}

Forward::~Forward() = default;

CanvasRunner* Forward::canvas() {
    return canvas_.get();
}

void Forward::truncate(uint32_t length) {
    if (length >= position_) return;
    position_ = length;
    cache_.truncate(*config_, length);
}

Status Forward::check(std::span<const int32_t> tokens) const {
    if (tokens.size() > context_ - position_) {
        return fail(Code::limit, "{} tokens do not fit: the context holds {} and {} are in use", tokens.size(),
                    context_, position_);
    }
    for (const int32_t token : tokens) {
        if (token < 0 || uint32_t(token) >= config_->vocabulary) {
            return fail(Code::invalid_argument, "token {} does not exist: the vocabulary has {}", token,
                        config_->vocabulary);
        }
    }
    return {};
}

Task<Result<std::vector<float>>> Forward::run(std::span<const int32_t> tokens, LogitsWanted wanted, Breathe breathe) {
    CO_TRY(model::check_writes_text(*config_));
    std::vector<float> logits;
    CO_TRY(co_await run_blocks(
        tokens, [&](std::span<const float> hidden, bool last) { add_logits(hidden, wanted, last, logits); },
        std::move(breathe)));
    co_return logits;
}

void Forward::add_logits(std::span<const float> hidden, LogitsWanted wanted, bool last,
                         std::vector<float>& logits) const {
    const bool none = wanted == LogitsWanted::none || (wanted != LogitsWanted::all && !last);
    if (none && !trace_) return;
    const std::vector<float> rows = head(wanted == LogitsWanted::all ? hidden : hidden.last(config_->width));
    if (!none) logits.insert(logits.end(), rows.begin(), rows.end());
}

uint64_t Forward::state_bytes(uint32_t positions) const {
    return model::kv_bytes_unwindowed(*config_, positions);
}

Task<Status> Forward::save_state(PutState put) {
    for (uint32_t layer = 0; layer < config_->layers.size(); ++layer) {
        for (const std::span<const float> rows : {cache_.keys(layer), cache_.values(layer)}) {
            const auto bytes = std::as_bytes(rows);
            for (size_t at = 0; at < bytes.size(); at += kStatePiece) {
                const auto piece = bytes.subspan(at, std::min(kStatePiece, bytes.size() - at));
                Bytes copy(piece.size());
                std::memcpy(copy.data(), piece.data(), piece.size());
                CO_TRY(co_await put(std::move(copy)));
            }
        }
    }
    co_return Status{};
}

Task<Status> Forward::load_state(std::span<const int32_t> tokens, GetState get) {
    truncate(0);
    const auto read = [&](size_t floats) -> Task<Result<std::vector<float>>> {
        std::vector<float> out(floats);
        const auto bytes = std::as_writable_bytes(std::span(out));
        for (size_t at = 0; at < bytes.size(); at += kStatePiece) {
            const size_t size = std::min(kStatePiece, bytes.size() - at);
            const Bytes piece = CO_TRY(co_await get(size));
            std::memcpy(bytes.data() + at, piece.data(), size);
        }
        co_return out;
    };
    Status status;
    for (uint32_t layer = 0; layer < config_->layers.size() && status; ++layer) {
        if (!config_->owns_kv(layer)) continue;
        const size_t floats = tokens.size() * config_->layers[layer].kv_width();
        const auto keys = co_await read(floats);
        const auto values = keys ? co_await read(floats) : keys;
        if (values) {
            cache_.append(layer, *keys, *values);
        } else {
            status = std::unexpected(values.error());
        }
    }
    position_ = uint32_t(tokens.size());
    if (!status) truncate(0);
    co_return status;
}

Task<Status> Forward::run_blocks(std::span<const int32_t> tokens, OnBlock take, Breathe breathe) {
    CO_TRY(check(tokens));
    const uint32_t start = position_;
    for (size_t done = 0; done < tokens.size(); done += kBlock) {
        const auto block = tokens.subspan(done, std::min(kBlock, tokens.size() - done));
        const auto hidden = co_await run_block(block, next_rows(block.size()), breathe);
        if (!hidden) {
            truncate(start);
            // Layers before the error have appended what `position_` does not count yet.
            cache_.truncate(*config_, start);
            co_return std::unexpected(hidden.error());
        }
        take(*hidden, done + block.size() == tokens.size());
    }
    co_return Status{};
}

std::vector<Forward::Row> Forward::next_rows(size_t tokens) const {
    std::vector<Row> rows;
    for (uint32_t at = position_; rows.size() < tokens; ++at) rows.push_back({at, at, 0, at + 1});
    return rows;
}

std::pair<uint32_t, uint32_t> Forward::visible(const model::LayerConfig& shape, const Row& row) const {
    if (!shape.sliding) return {row.first, row.end};
    // Of an embedding model the window lies on both sides.
    const uint32_t before = config_->embedding ? config_->sliding_window / 2 : config_->sliding_window - 1;
    const uint32_t first = row.key - std::min(row.key, before);
    return {std::max(row.first, first), std::max(row.sliding_end, std::min(row.end, row.key + before + 1))};
}

Task<Result<std::vector<float>>> Forward::run_block(std::span<const int32_t> tokens, std::span<const Row> rows,
                                                    Breathe breathe) {
    co_return co_await run_rows(embeddings(tokens), tokens, rows, std::move(breathe));
}

// h: [t, d]
Task<Result<std::vector<float>>> Forward::run_rows(std::vector<float> h, std::span<const int32_t> tokens,
                                                   std::span<const Row> rows, Breathe breathe) {
    const std::vector<float> inputs = per_layer_inputs(tokens, h);  // [t, layers, P]
    CO_TRY(co_await run_layers(h, rows, inputs, model::Region::prompt, std::move(breathe)));
    position_ += uint32_t(tokens.size());
    co_return h;
}

Task<Status> Forward::run_layers(std::span<float> h, std::span<const Row> rows, std::span<const float> inputs,
                                 model::Region region, Breathe breathe) {
    for (uint32_t layer = 0; layer < config_->layers.size(); ++layer) {
        const LayerVectors& vectors = vectors_[layer];
        trace(layer, h);
        attention_block(layer, rows, h);
        ffn_block(layer, h);
        per_layer_block(layer, inputs, h);
        for (float& v : h) v *= region == model::Region::canvas ? vectors.canvas_output_scale : vectors.output_scale;
        if (breathe) CO_TRY(co_await breathe());
    }
    co_return Status{};
}

// h = token_embd[id] · sqrt(d)
std::vector<float> Forward::embeddings(std::span<const int32_t> tokens) const {
    const size_t d = config_->width;
    const Matrix table = weights_->matrix(table_->token_embd);
    const float scale = std::sqrt(float(d));
    std::vector<float> h(tokens.size() * d);
    for (size_t t = 0; t < tokens.size(); ++t) {
        const auto row = std::span(h).subspan(t * d, d);
        table.decode_row(uint64_t(tokens[t]), row);
        for (const Term& term : terms(0, lora::Target::token_embd)) {
            lora::add_embedding_update(*term.update, term.scale, tokens[t], row);
        }
        for (float& v : row) v *= scale;
    }
    return h;
}

// ple[t, l] = (rms(proj · h / sqrt(d)) + row of the token · sqrt(P)) / sqrt(2), for every layer l. [t, layers, P]
std::vector<float> Forward::per_layer_inputs(std::span<const int32_t> tokens, std::span<const float> h) const {
    const uint32_t p = config_->per_layer_width;
    if (p == 0) return {};
    std::vector<float> context = apply(table_->per_layer_model_proj, h);
    const float scale = 1.0f / std::sqrt(float(config_->width));
    for (float& v : context) v *= scale;
    rms_norm(context, per_layer_proj_norm_, p, config_->norm_epsilon, context);
    const Matrix table = weights_->matrix(table_->per_layer_token_embd);
    const float token_scale = std::sqrt(float(p));
    const float half = 1.0f / std::sqrt(2.0f);
    std::vector<float> row(size_t(table.cols));
    for (size_t t = 0; t < tokens.size(); ++t) {
        table.decode_row(uint64_t(tokens[t]), row);
        for (size_t i = 0; i < row.size(); ++i) {
            float& v = context[t * row.size() + i];
            v = (v + row[i] * token_scale) * half;
        }
    }
    return context;
}

// h += rms(Wo · attention(...)) for every token of the block.
void Forward::attention_block(uint32_t layer, std::span<const Row> rows, std::span<float> h) {
    const model::LayerConfig& shape = config_->layers[layer];
    const model::LayerWeights& w = table_->layers[layer];
    const LayerVectors& v = vectors_[layer];
    const float eps = config_->norm_epsilon;
    const auto& frequencies = shape.sliding ? rope_sliding_ : rope_full_;
    const size_t tokens = rows.size();

    std::vector<float> x(h.size());
    rms_norm(h, v.attn_norm, config_->width, eps, x);

    std::vector<float> q = apply(layer, Target::q, x);  // [t, heads, head_dim]
    rms_norm(q, v.q_norm, shape.head_dim, eps, q);
    for (size_t t = 0; t < tokens; ++t) {
        rope(std::span(q).subspan(t * shape.q_width(), shape.q_width()), shape.head_dim, rows[t].position, frequencies);
    }

    if (config_->owns_kv(layer)) {
        std::vector<float> k = apply(layer, Target::k, x);  // [t, kv_heads, head_dim]
        // Where there is no Wv, the values are the raw keys: before their norm, before rope.
        std::vector<float> value = w.attn_v.present() ? apply(layer, Target::v, x) : k;
        rms_norm(k, v.k_norm, shape.head_dim, eps, k);
        if (config_->norms_values) rms_norm(value, {}, shape.head_dim, eps, value);
        for (size_t t = 0; t < tokens; ++t) {
            rope(std::span(k).subspan(t * shape.kv_width(), shape.kv_width()), shape.head_dim, rows[t].position,
                 frequencies);
        }
        cache_.append(layer, k, value);
    }

    std::vector<float> attended(q.size());
    for (size_t t = 0; t < tokens; ++t) {
        const auto [begin, end] = visible(shape, rows[t]);
        attention({shape.heads, shape.kv_heads, shape.head_dim},
                  std::span(q).subspan(t * shape.q_width(), shape.q_width()), cache_.keys(shape.kv_layer),
                  cache_.values(shape.kv_layer), begin, end,
                  std::span(attended).subspan(t * shape.q_width(), shape.q_width()));
    }
    add_rms_norm(apply(layer, Target::o, attended), v.post_attention_norm, eps, h);
}

// h += rms(ffn(h)); with experts, the dense network and the experts each have a norm of their own before the sum.
void Forward::ffn_block(uint32_t layer, std::span<float> h) const {
    const LayerVectors& v = vectors_[layer];
    const float eps = config_->norm_epsilon;
    std::vector<float> u(h.size());
    rms_norm(h, v.ffn_norm, config_->width, eps, u);
    std::vector<float> y = dense_ffn(layer, u);
    if (table_->layers[layer].is_moe()) {
        rms_norm(y, v.post_ffw_norm_1, config_->width, eps, y);
        add_rms_norm(experts(layer, h), v.post_ffw_norm_2, eps, y);
    }
    add_rms_norm(y, v.post_ffw_norm, eps, h);
}

// down · (gelu(gate · u) ⊙ (up · u))
std::vector<float> Forward::dense_ffn(uint32_t layer, std::span<const float> u) const {
    std::vector<float> gate = apply(layer, Target::gate, u);
    gelu_gate(gate, apply(layer, Target::up, u));
    return apply(layer, Target::down, gate);
}

// Σ over the chosen experts of weight · scale · down(gelu(gate · z) ⊙ (up · z)), z = rms(h). [t, d]
std::vector<float> Forward::experts(uint32_t layer, std::span<const float> h) const {
    const model::LayerWeights& w = table_->layers[layer];
    const LayerVectors& v = vectors_[layer];
    const model::ExpertConfig& moe = config_->experts;
    const size_t d = config_->width;
    const size_t tokens = h.size() / d;

    std::vector<float> routed(h.size());
    rms_norm(h, {}, config_->width, config_->norm_epsilon, routed);
    const float scale = 1.0f / std::sqrt(float(d));
    for (size_t i = 0; i < routed.size(); ++i) routed[i] *= scale * v.router_scale[i % d];
    std::vector<float> probability = apply(w.router, routed);  // [t, experts]

    // share[t, e]: how much of expert e goes into token t; 0 where it was not chosen.
    std::vector<float> share(probability.size());
    for (size_t t = 0; t < tokens; ++t) {
        const auto p = std::span(probability).subspan(t * moe.count, moe.count);
        softmax(p);
        const auto chosen = largest(p, moe.used);
        float sum = 0;
        for (const uint32_t e : chosen) sum += p[e];
        for (const uint32_t e : chosen) share[t * moe.count + e] = p[e] / sum;
    }

    std::vector<float> z(h.size());
    rms_norm(h, v.pre_ffw_norm_2, config_->width, config_->norm_epsilon, z);
    const Matrix gate_up = weights_->matrix(w.expert_gate_up);
    const Matrix gates = weights_->matrix(w.expert_gate);
    const Matrix ups = weights_->matrix(w.expert_up);
    const Matrix downs = weights_->matrix(w.expert_down);
    const uint64_t f = moe.ffn;
    std::vector<float> gate(f);
    std::vector<float> up(f);
    std::vector<float> down(d);
    std::vector<float> out(h.size());
    for (uint32_t e = 0; e < moe.count; ++e) {
        const Matrix gate_e = gate_up.present() ? gate_up.slice(e * 2 * f, f) : gates.slice(e * f, f);
        const Matrix up_e = gate_up.present() ? gate_up.slice(e * 2 * f + f, f) : ups.slice(e * f, f);
        const Matrix down_e = downs.slice(e * d, d);
        for (size_t t = 0; t < tokens; ++t) {
            const float amount = share[t * moe.count + e] * v.expert_down_scale[e];
            if (share[t * moe.count + e] == 0) continue;
            const auto in = std::span<const float>(z).subspan(t * d, d);
            matmul(gate_e, in, gate);
            matmul(up_e, in, up);
            gelu_gate(gate, up);
            matmul(down_e, gate, down);
            for (size_t i = 0; i < d; ++i) out[t * d + i] += amount * down[i];
        }
    }
    return out;
}

// h += rms(proj · (gelu(inp_gate · h) ⊙ ple[layer]))
void Forward::per_layer_block(uint32_t layer, std::span<const float> inputs, std::span<float> h) const {
    const size_t p = config_->per_layer_width;
    if (p == 0) return;
    std::vector<float> gate = apply(layer, Target::inp_gate, h);  // [t, P]
    const size_t stride = config_->layers.size() * p;
    for (size_t t = 0; t < gate.size() / p; ++t) {
        gelu_gate(std::span(gate).subspan(t * p, p), inputs.subspan(t * stride + layer * p, p));
    }
    add_rms_norm(apply(layer, Target::proj, gate), vectors_[layer].post_norm, config_->norm_epsilon, h);
}

// rms(h)
std::vector<float> Forward::normed(std::span<const float> h) const {
    std::vector<float> n(h.size());
    rms_norm(h, output_norm_, config_->width, config_->norm_epsilon, n);
    return n;
}

// softcap(head · rms(h))
std::vector<float> Forward::head(std::span<const float> h) const {
    const std::vector<float> n = normed(h);
    trace(uint32_t(config_->layers.size()), n);
    std::vector<float> logits = apply(0, Target::output, n);
    softcap(logits, config_->logit_softcap);
    return logits;
}

std::vector<float> Forward::apply(const model::Weight& weight, std::span<const float> x) const {
    const Matrix w = weights_->matrix(weight);
    std::vector<float> y(x.size() / size_t(w.cols) * size_t(w.rows));
    matmul(w, x, y);
    return y;
}

std::vector<float> Forward::apply(uint32_t layer, Target target, std::span<const float> x) const {
    std::vector<float> y = apply(*lora::weight_of(*table_, layer, target), x);
    for (const Term& term : terms(layer, target)) lora::add_update(*term.update, term.scale, x, y);
    return y;
}

std::span<const Forward::Term> Forward::terms(uint32_t layer, Target target) const {
    if (terms_.empty()) return {};
    return terms_[layer * lora::kTargets + size_t(target)];
}

Task<Status> Forward::set_adapters(std::span<const lora::Active> active) {
    truncate(0);
    terms_.clear();
    adapters_.clear();
    CO_TRY(lora::check_fits(active, *table_));
    if (active.empty()) co_return Status{};
    adapters_.assign(active.begin(), active.end());
    terms_.resize(table_->layers.size() * lora::kTargets);
    for (const lora::Active& one : adapters_) {
        for (const lora::Update& update : one.adapter->updates) {
            const uint32_t layer = lora::in_layer(update.target) ? update.layer : 0;
            terms_[layer * lora::kTargets + size_t(update.target)].push_back({&update, one.scale});
        }
    }
    co_return Status{};
}

void Forward::trace(uint32_t layer, std::span<const float> h) const {
    if (trace_) trace_(layer, h.last(config_->width));
}

}  // namespace lapidary::reference
