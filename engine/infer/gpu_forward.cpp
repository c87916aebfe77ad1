#include "infer/gpu_forward.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/checked.h"
#include "infer/gpu_division.h"
#include "infer/gpu_rope.h"
#include "model/memory.h"

namespace lapidary::infer {

using Group = GpuAdapters::Group;

namespace {

kernels::Variant variant_with(kernels::Variant variant, KvFormat kv) {
    variant.kv = kv;
    return variant;
}

}  // namespace

GpuForward::GpuForward(std::shared_ptr<GpuModel> model, GpuOptions options)
    : model_(std::move(model)),
      options_(options),
      resources_(model_->device(), variant_with(model_->choice().variant, options.kv)) {}

Task<Result<std::unique_ptr<GpuForward>>> GpuForward::create(std::shared_ptr<GpuModel> model, GpuOptions options,
                                                             Cancel cancel) {
    // Rows of activations are bound by themselves, and a binding must begin at a multiple of 256 bytes.
    if (model->config().width % 64 != 0) {
        co_return fail(Code::unsupported, "the GPU backend wants a width of a multiple of 64, not {}",
                       model->config().width);
    }
    for (const model::LayerConfig& layer : model->config().layers) {
        const uint64_t grain = kv_granularity(options.kv);
        if (layer.head_dim > 512 || layer.head_dim % grain != 0) {
            co_return fail(Code::unsupported,
                           "the GPU backend wants heads of up to 512 elements by {} to keep them as {}, not {}", grain,
                           kv_format_name(options.kv), layer.head_dim);
        }
    }
    std::unique_ptr<GpuForward> forward(new GpuForward(std::move(model), options));
    CO_TRY(forward->allocate());
    CO_TRY(forward->allocate_caches());
    CO_TRY(co_await forward->layers_program(1, Depth::all, cancel));
    CO_TRY(co_await forward->resources_.device().sync(cancel));
    co_return forward;
}

Status GpuForward::allocate() {
    const model::Config& config = model_->config();
    uint64_t qkv = 0;
    uint64_t attended = 0;
    uint64_t ffn = 0;
    uint64_t parts = 0;
    uint64_t stats = 0;
    for (uint32_t i = 0; i < config.layers.size(); ++i) {
        const model::LayerConfig& layer = config.layers[i];
        qkv = std::max<uint64_t>(qkv, layer.q_width() + 2 * layer.kv_width());
        attended = std::max<uint64_t>(attended, layer.q_width());
        ffn = std::max<uint64_t>(ffn, layer.ffn);
        parts = std::max<uint64_t>(parts, layer.q_width() * max_splits(i));
        stats = std::max<uint64_t>(stats, uint64_t(layer.heads) * max_splits(i) * 2);
    }
    const uint64_t d = config.width;
    const uint64_t all_p = uint64_t(config.per_layer_width) * config.layers.size();
    const model::ExpertConfig& moe = config.experts;
    const auto rows = [&](uint64_t width) { return width * kMaxBlock * sizeof(float); };
    a_.step = TRY(resources_.buffer(16, "step"));
    a_.ids = TRY(resources_.buffer(rows(1), "ids"));
    if (needs_rows()) {
        const GpuMatrix& table = model_->per_layer_token_embd;
        a_.table_rows =
            TRY(resources_.buffer(kernels::gpu_bytes(table.format, kMaxBlock, table.cols), "per-layer rows"));
        a_.row_ids = TRY(resources_.buffer(rows(1), "row ids"));
        std::array<uint32_t, kMaxBlock> ids{};
        std::iota(ids.begin(), ids.end(), 0);
        device().write(a_.row_ids.buffer, 0, {reinterpret_cast<const uint8_t*>(ids.data()), sizeof(ids)});
    }
    a_.h = TRY(resources_.buffer(rows(d), "h"));
    a_.other_h = TRY(resources_.buffer(d * sizeof(float), "h, in turn"));
    a_.xn = TRY(resources_.buffer(rows(d), "xn"));
    a_.planes = TRY(resources_.buffer(plane_bytes(std::max({d, ffn, attended})), "planes"));
    a_.qkv = TRY(resources_.buffer(rows(qkv), "qkv"));
    a_.attended = TRY(resources_.buffer(rows(attended), "attended"));
    a_.parts = TRY(resources_.buffer(parts * sizeof(float), "attention parts"));
    a_.stats = TRY(resources_.buffer(stats * sizeof(float), "attention stats"));
    a_.o = TRY(resources_.buffer(rows(d), "o"));
    a_.ff = TRY(resources_.buffer(rows(ffn), "ff"));
    a_.context = TRY(resources_.buffer(rows(all_p), "per-layer context"));
    a_.token_inputs = TRY(resources_.buffer(rows(all_p), "per-layer token inputs"));
    a_.inputs = TRY(resources_.buffer(rows(all_p), "per-layer inputs"));
    a_.gate = TRY(resources_.buffer(rows(config.per_layer_width), "per-layer gate"));
    if (moe.count > 0) {
        a_.router_in = TRY(resources_.buffer(rows(d), "router input"));
        a_.router_logits = TRY(resources_.buffer(rows(moe.count), "router logits"));
        a_.expert_ids = TRY(resources_.buffer(rows(moe.used), "experts chosen"));
        a_.shares = TRY(resources_.buffer(rows(moe.used), "experts' shares"));
        a_.expert_ff = TRY(resources_.buffer(rows(uint64_t(moe.used) * moe.ffn), "experts' ff"));
        a_.expert_out = TRY(resources_.buffer(rows(uint64_t(moe.used) * d), "experts' output"));
        a_.experts = TRY(resources_.buffer(rows(d), "experts"));
    }
    a_.logits = TRY(resources_.buffer(uint64_t(config.vocabulary) * kLogitRows * sizeof(float), "logits"));
    a_.best = TRY(resources_.buffer(kMostChoiceParts * 8, "argmax"));
    a_.history = TRY(resources_.buffer(uint64_t(options_.context + 2) * 4, "history"));
    a_.sampling = TRY(resources_.buffer(48, "sampling"));
    a_.biases = TRY(resources_.buffer(kMostBiases * 8, "biases"));
    a_.mask = TRY(resources_.buffer(mask_words() * 4, "mask"));
    a_.bins = TRY(resources_.buffer((kSamplingBins + 1) * 4, "bins"));
    a_.candidates = TRY(resources_.buffer(kCandidates * 8, "candidates"));
    a_.spare = TRY(resources_.buffer(1024, "spare"));
    a_.zeros = TRY(resources_.buffer(d * sizeof(float), "zeros"));

    rates_ = TRY(rope_rates(resources_, *model_));
    a_.turns = TRY(resources_.buffer(rates_.all.size / 2, "turns"));
    return {};
}

Status GpuForward::allocate_caches() {
    const model::Config& config = model_->config();
    for (uint32_t i = 0; i < config.layers.size(); ++i) {
        const model::LayerConfig& layer = config.layers[i];
        LayerCache cache;
        if (config.owns_kv(i)) {
            // A sliding layer keeps its window and one block: the block's writes must not reach what it still reads.
            cache.ring =
                layer.sliding ? std::min(options_.context, config.sliding_window + kMaxBlock) : options_.context;
            const KvRow row = kv_row(options_.kv, layer.head_dim);
            const uint64_t bytes = uint64_t(cache.ring) * layer.kv_heads * (row.bytes + row.scale_bytes);
            if (bytes > resources_.device().info().max_binding_bytes) {
                return fail(
                    Code::out_of_memory,
                    "a context of {} tokens needs {} in one piece for keys as {}; this GPU binds {} at most: ask for a "
                    "shorter one or a smaller format",
                    options_.context, format_bytes(bytes), kv_format_name(options_.kv),
                    format_bytes(resources_.device().info().max_binding_bytes));
            }
            cache.k = TRY(resources_.buffer(bytes, "K cache"));
            cache.v = TRY(resources_.buffer(bytes, "V cache"));
        }
        caches_.push_back(cache);
        head_norms_.push_back(TRY(resources_.floats(joined({model_->vector(model_->table().layers[i].attn_q_norm),
                                                            model_->vector(model_->table().layers[i].attn_k_norm)}),
                                                    "head norms")));
    }
    return {};
}

std::vector<CacheRegion> GpuForward::cache_regions() const {
    const model::Config& config = model_->config();
    std::vector<CacheRegion> out;
    for (uint32_t i = 0; i < config.layers.size(); ++i) {
        if (!config.owns_kv(i)) continue;
        const model::LayerConfig& layer = config.layers[i];
        const KvRow row = kv_row(options_.kv, layer.head_dim);
        const uint64_t rows = uint64_t(caches_[i].ring) * layer.kv_heads;
        for (const gpu::Binding& cache : {caches_[i].k, caches_[i].v}) {
            CacheRegion region{.buffer = cache.buffer,
                               .stride = layer.kv_heads * row.bytes,
                               .ring = caches_[i].ring,
                               .most = layer.sliding ? config.sliding_window + kMaxBlock : 0};
            out.push_back(region);
            region.offset = rows * row.bytes;
            region.stride = layer.kv_heads * row.scale_bytes;
            if (region.stride > 0) out.push_back(region);
        }
    }
    return out;
}

uint32_t GpuForward::max_splits(uint32_t layer) const {
    const model::Config& config = model_->config();
    const uint32_t keys =
        config.layers[layer].sliding ? std::min(config.sliding_window, options_.context) : options_.context;
    // As attention_splits in common.wgsl has it; even, because the parts' numbers are read two at a time.
    return std::min(kMostSplits, ceil_div(keys, 128) * 2);
}

Status GpuForward::use_adapters(std::span<const lora::Active> active) {
    adapters_ = nullptr;
    if (active.empty()) return {};
    TRY(lora::check_fits(active, model_->table()));
    const auto known =
        std::ranges::find_if(adapter_sets_, [&](const auto& set) { return std::ranges::equal(set->active(), active); });
    if (known != adapter_sets_.end()) {
        std::rotate(known, known + 1, adapter_sets_.end());
    } else {
        if (make_gpu_adapters == nullptr) return fail(Code::internal, "this engine has no adapters");
        if (adapter_sets_.size() == kAdapterSets) adapter_sets_.erase(adapter_sets_.begin());
        adapter_sets_.push_back(TRY(make_gpu_adapters(*model_, active, resources_.variant(), kMaxBlock)));
    }
    adapters_ = adapter_sets_.back().get();
    return {};
}

uint64_t GpuForward::bytes() const {
    uint64_t bytes = resources_.bytes();
    for (const auto& set : adapter_sets_) bytes += set->resources().bytes();
    return bytes;
}

uint32_t GpuForward::complete_layers(Depth depth) const {
    const auto layers = uint32_t(model_->config().layers.size());
    // Of the last layer that owns K and V, only those are wanted.
    return depth == Depth::all ? layers : layers - model_->config().shared_kv_layers - 1;
}

// logits[0 …] = head of `rows` rows of normed activations
void GpuForward::record_head(GpuRecorder& program, gpu::Binding x, uint32_t rows) {
    const float cap = model_->config().logit_softcap;
    const bool later = adapts(0, Group::output);  // what adapters add comes before the cap
    const Product head{.matrix = &model_->head(),
                       .x = x,
                       .y = a_.logits,
                       .finish = cap > 0 && !later ? Finish::softcap : Finish::plain};
    rows == 1 ? row_product(program, head) : product(program, head, rows);
    if (!later) return;
    const uint64_t n = model_->config().vocabulary;
    adapt(program, 0, Group::output, x, {.y = a_.logits, .stride = n}, rows);
    if (cap == 0) return;
    return program.add(kernels::kSoftcap, {{"kN", double(n)}, {"kCap", double(cap)}}, {a_.step, a_.logits},
                       {ceil_div(n, 64), rows, 1});
}

Task<Result<gpu::Id>> GpuForward::layers_program(uint32_t block, Depth depth, Cancel cancel) {
    auto& programs = adapters_ != nullptr ? adapters_->layers_programs : layers_programs_;
    const auto key = std::pair(block, uint8_t(depth));
    if (const auto it = programs.find(key); it != programs.end()) co_return it->second;
    GpuRecorder program(resources_, cancel, &keeper());
    record_layers(program, block, depth);
    const gpu::Id id = CO_TRY(co_await program.finish());
    programs.emplace(key, id);
    co_return id;
}

Task<Result<gpu::Id>> GpuForward::head_program(uint32_t first_row, uint32_t rows, Cancel cancel) {
    const auto key = std::pair(first_row, rows);
    auto& programs = adapters_ != nullptr ? adapters_->head_programs : head_programs_;
    if (const auto it = programs.find(key); it != programs.end()) co_return it->second;
    GpuRecorder program(resources_, cancel, &keeper());
    const uint64_t row_bytes = uint64_t(model_->config().width) * sizeof(float);
    const gpu::Binding x{a_.xn.buffer, first_row * row_bytes, rows * row_bytes};
    record_head(program, x, rows);
    const gpu::Id id = CO_TRY(co_await program.finish());
    programs.emplace(key, id);
    co_return id;
}

void GpuForward::write_tokens(std::span<const int32_t> tokens) {
    device().write(a_.ids.buffer, 0, {reinterpret_cast<const uint8_t*>(tokens.data()), tokens.size_bytes()});
}

Task<Status> GpuForward::write_rows(std::span<const int32_t> tokens, Cancel cancel) {
    if (!needs_rows()) co_return Status{};
    const Bytes rows = CO_TRY(co_await model_->per_layer_rows->rows(tokens, std::move(cancel)));
    device().write(a_.table_rows.buffer, 0, rows);
    co_return Status{};
}

void GpuForward::write_step(uint32_t position, uint32_t tokens) {
    const std::array<uint32_t, 4> step = {position, tokens, 0, 0};
    device().write(a_.step.buffer, 0, {reinterpret_cast<const uint8_t*>(step.data()), sizeof(step)});
}

}  // namespace lapidary::infer
