#include "infer/gpu_programs.h"

#include <algorithm>
#include <numeric>

#include "base/edition.h"
#include "infer/embedding.h"
#include "infer/gpu_ops.h"
#include "infer/grouped_ops.h"
#include "infer/head.h"
#include "kernels/train/copy_rows.h"

namespace lapidary::infer {
namespace {

kernels::Variant variant_with(kernels::Variant variant, KvFormat kv) {
    variant.kv = kv;
    return variant;
}

template <class T>
std::span<const uint8_t> bytes_of(std::span<const T> values) {
    return {reinterpret_cast<const uint8_t*>(values.data()), values.size_bytes()};
}

}  // namespace

Status check_heads(const model::Config& config, KvFormat kv) {
    const uint64_t grain = kv_granularity(kv);
    for (const model::LayerConfig& layer : config.layers) {
        if (layer.head_dim <= 512 && layer.head_dim % grain == 0) continue;
        return fail(Code::unsupported,
                    "the GPU backend wants heads of up to 512 elements by {} to keep them as {}, not {}", grain,
                    kv_format_name(kv), layer.head_dim);
    }
    return {};
}

decltype(&GpuAdapters::create) make_gpu_adapters = nullptr;

GpuPrograms::GpuPrograms(std::shared_ptr<GpuModel> model, GpuOptions options)
    : model_(std::move(model)),
      options_(options),
      resources_(model_->device(), variant_with(model_->choice().variant, options.kv), model_->choice().compute_units) {
}

Task<Result<std::unique_ptr<GpuPrograms>>> GpuPrograms::create(std::shared_ptr<GpuModel> model, GpuOptions options,
                                                               Cancel cancel) {
    if (!has_everything() && model->config().width % 64 != 0) {
        co_return fail(Code::needs_everything, "a width of {} is for the larger engine", model->config().width);
    }
    CO_TRY(check_heads(model->config(), options.kv));
    std::unique_ptr<GpuPrograms> out(new GpuPrograms(std::move(model), options));
    if (!options.shares_scratch) out->resources_.keep_scratch_apart();
    out->t_ = CO_TRY(SessionTensors::create(out->resources_, *out->model_, options.context));
    // The scratch memory of the longest block, now: later there may be none left.
    kernels::Program longest = out->begin(cancel);
    longest.only_measure();
    const uint32_t block = *std::ranges::find_if(kBlocks, [&](uint32_t size) { return size >= options.block; });
    out->record_layers(longest, block, Depth::all);
    if (has_everything() && out->config().diffusion) {
        out->canvas_ =
            CO_TRY(CanvasTensors::create(out->resources_, out->config().diffusion->canvas, out->config().vocabulary));
        out->record_canvas_step(longest, true);
    }
    CO_TRY(longest.reserve());
    CO_TRY(co_await out->layers(1, Depth::all, cancel));
    CO_TRY(co_await out->resources_.device().sync(cancel));
    co_return out;
}

std::vector<CacheRegion> GpuPrograms::cache_regions() const {
    std::vector<CacheRegion> out;
    for (uint32_t i = 0; i < config().layers.size(); ++i) {
        if (!config().owns_kv(i)) continue;
        const model::LayerConfig& layer = config().layers[i];
        const KvRow row = kv_row(options_.kv, layer.head_dim);
        const kernels::KvView& kv = t_.kv[i];
        const uint64_t rows = uint64_t(kv.ring) * layer.kv_heads;
        for (const gpu::Tensor& cache : {kv.k, kv.v}) {
            CacheRegion region{.buffer = cache.at.buffer,
                               .stride = layer.kv_heads * row.bytes,
                               .ring = kv.ring,
                               .most = layer.sliding ? config().sliding_window + kMaxBlock : 0};
            out.push_back(region);
            region.offset = rows * row.bytes;
            region.stride = layer.kv_heads * row.scale_bytes;
            if (region.stride > 0) out.push_back(region);
        }
    }
    return out;
}

Status GpuPrograms::use_adapters(std::span<const lora::Active> active) {
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
        adapter_sets_.push_back(TRY(make_gpu_adapters(*model_, active, resources_.variant())));
    }
    adapters_ = adapter_sets_.back().get();
    return {};
}

uint64_t GpuPrograms::bytes() const {
    uint64_t bytes = resources_.bytes();
    for (const auto& set : adapter_sets_) bytes += set->resources().bytes();
    return bytes;
}

kernels::Program GpuPrograms::begin(Cancel cancel) {
    return {resources_, t_.step, std::move(cancel), adapters_ != nullptr ? &adapters_->resources() : nullptr};
}

std::unique_ptr<GpuOps> GpuPrograms::ops_for(kernels::Program& program, uint32_t block) {
    // Few tokens choose nearly as many experts as they have choices: they go to them one by one.
    constexpr uint32_t kFewTokens = 16;
    if (has_everything() && config().experts.count > 0 && block > kFewTokens) {
        return std::make_unique<GroupedOps>(program, *model_, t_, options_.context, block, adapters_);
    }
    return std::make_unique<GpuOps>(program, *model_, t_, options_.context, block, adapters_);
}

void GpuPrograms::record_layers(kernels::Program& program, uint32_t block, Depth depth) {
    const auto ops = ops_for(program, block);
    const Embedded embedded = embed(program, *ops, *model_, t_, block, adapters_);
    run_layers(*ops, layer_source(), ops->begin(embedded.h, embedded.inputs),
               {.kv = t_.kv, .context = options_.context, .depth = depth, .normed = t_.xn});
}

LayerSource GpuPrograms::layer_source() const {
    return {.config = config(), .table = model_->table(), .vector = [this](const model::Weight& weight) {
                return model_->vector(weight);
            }};
}

gpu::Tensor GpuPrograms::normed_rows(kernels::Program& program, uint32_t first, uint32_t count) {
    const gpu::Tensor rows = t_.xn.row_range(first, count);
    // Of an odd width not every row begins where a binding can.
    if (!has_everything() || rows.at.offset % kernels::kBindingAlignment == 0) return rows;
    const gpu::Tensor copy = program.scratch("rows of xn", count, config().width);
    std::vector<uint32_t> numbers(count);
    std::iota(numbers.begin(), numbers.end(), first);
    program.add(kernels::CopyRows{
        .x = t_.xn, .y = copy, .cols = config().width, .count = count, .known_rows = std::move(numbers)});
    return copy;
}

void GpuPrograms::record_head(kernels::Program& program, gpu::Tensor x, uint32_t rows) {
    GpuOps ops(program, *model_, t_, options_.context, rows, adapters_);
    infer::head(program, ops, *model_, x, t_.logits, rows);
}

Task<Result<gpu::Id>> GpuPrograms::layers(uint32_t block, Depth depth, Cancel cancel) {
    auto& programs = adapters_ != nullptr ? adapters_->programs.layers : programs_.layers;
    const auto key = std::pair(block, uint8_t(depth));
    if (const auto it = programs.find(key); it != programs.end()) co_return it->second;
    kernels::Program program = begin(cancel);
    record_layers(program, block, depth);
    const gpu::Id id = CO_TRY(co_await program.compile());
    programs.emplace(key, id);
    co_return id;
}

Task<Result<gpu::Id>> GpuPrograms::head(uint32_t first_row, uint32_t rows, Cancel cancel) {
    auto& programs = adapters_ != nullptr ? adapters_->programs.heads : programs_.heads;
    const auto key = std::pair(first_row, rows);
    if (const auto it = programs.find(key); it != programs.end()) co_return it->second;
    kernels::Program program = begin(cancel);
    record_head(program, normed_rows(program, first_row, rows), rows);
    const gpu::Id id = CO_TRY(co_await program.compile());
    programs.emplace(key, id);
    co_return id;
}

Task<Result<gpu::Id>> GpuPrograms::choice(SampleMode mode, Cancel cancel) {
    if (const auto it = choices_.find(mode); it != choices_.end()) co_return it->second;
    kernels::Program program(resources_, t_.step, cancel);
    record_sampling(program, t_, config().vocabulary, mode);
    const gpu::Id id = CO_TRY(co_await program.compile());
    choices_.emplace(mode, id);
    co_return id;
}

Task<Result<gpu::Id>> GpuPrograms::decode(SampleMode mode, Cancel cancel) {
    auto& programs = adapters_ != nullptr ? adapters_->programs.decodes : programs_.decodes;
    const auto key = uint8_t(mode);
    if (const auto it = programs.find(key); it != programs.end()) co_return it->second;
    kernels::Program program = begin(cancel);
    record_layers(program, 1, Depth::all);
    record_head(program, t_.xn, 1);
    record_sampling(program, t_, config().vocabulary, mode);
    const gpu::Id id = CO_TRY(co_await program.compile());
    if (mode == SampleMode::greedy && adapters_ == nullptr) greedy_commands_ = program.labelled();
    programs.emplace(key, id);
    co_return id;
}

void GpuPrograms::write_tokens(std::span<const int32_t> tokens) {
    device().write(t_.ids.at.buffer, 0, bytes_of(tokens));
}

Task<Status> GpuPrograms::write_rows(std::span<const int32_t> tokens, Cancel cancel) {
    if (!needs_rows()) co_return Status{};
    const Bytes rows = CO_TRY(co_await model_->per_layer_rows->rows(tokens, std::move(cancel)));
    device().write(t_.table_rows.at.buffer, 0, rows);
    co_return Status{};
}

void GpuPrograms::write_step(uint32_t position, uint32_t tokens) {
    const std::array<uint32_t, 4> step = {position, tokens, 0, 0};
    device().write(t_.step.at.buffer, 0, bytes_of<uint32_t>(step));
}

}  // namespace lapidary::infer
