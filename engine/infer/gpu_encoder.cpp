#include "infer/gpu_encoder.h"

#include <algorithm>
#include <cstring>

#include "infer/embedding.h"
#include "infer/gpu_ops.h"
#include "kernels/attention/visible_table.h"
#include "kernels/embed/embed_ops.h"

namespace lapidary::infer {
namespace {

kernels::Variant variant_of(const GpuModel& model, KvFormat kv) {
    kernels::Variant variant = model.choice().variant;
    variant.kv = kv;
    return variant;
}

template <class T>
void write_all(gpu::Device& device, const gpu::Tensor& tensor, const std::vector<T>& values) {
    device.write(tensor.at.buffer, 0, {reinterpret_cast<const uint8_t*>(values.data()), values.size() * sizeof(T)});
}

}  // namespace

GpuEncoder::GpuEncoder(std::shared_ptr<GpuModel> model, GpuOptions options, kernels::Variant variant)
    : model_(std::move(model)),
      options_(options),
      resources_(model_->device(), variant, model_->choice().compute_units),
      most_rows_(std::max(options.context, options.block)) {
    for (const uint32_t size : kSizes) {
        if (size >= most_rows_) {
            most_rows_ = size;
            break;
        }
    }
}

Task<Result<std::unique_ptr<GpuEncoder>>> GpuEncoder::create(std::shared_ptr<GpuModel> model, GpuOptions options,
                                                             Cancel cancel) {
    CO_TRY(check_heads(model->config(), options.kv));
    const kernels::Variant variant = variant_of(*model, options.kv);
    std::unique_ptr<GpuEncoder> out(new GpuEncoder(std::move(model), options, variant));
    if (!options.shares_scratch) out->resources_.keep_scratch_apart();
    CO_TRY(out->allocate());
    // The scratch memory of the longest text, now: later there may be none left.
    kernels::Program longest(out->resources_, out->t_.step, cancel);
    longest.only_measure();
    out->record_layers(longest, out->most_rows_);
    CO_TRY(longest.reserve());
    CO_TRY(co_await out->resources_.device().sync(cancel));
    co_return out;
}

Status GpuEncoder::allocate() {
    const auto tensor = [&](std::string_view label, uint32_t rows, uint64_t cols) -> Result<gpu::Tensor> {
        return gpu::rows_in(TRY(resources_.buffer(rows * cols * sizeof(float), label)), rows, uint32_t(cols));
    };
    t_.step = TRY(tensor("step", 1, 4));
    t_.ids = TRY(tensor("ids", most_rows_, 1));
    t_.xn = TRY(tensor("xn", most_rows_, config().width));
    t_.frequencies = TRY(rope_frequencies(resources_, *model_));
    uint64_t row_bytes = 0;
    for (uint32_t i = 0; i < config().layers.size(); ++i) {
        const model::LayerConfig& layer = config().layers[i];
        const KvRow row = kv_row(options_.kv, layer.head_dim);
        row_bytes = std::max(row_bytes, layer.kv_heads * (row.bytes + row.scale_bytes));
        t_.head_norms.push_back({.at = TRY(resources_.floats(model_->head_norms(i), "head norms"))});
    }
    kv_.ring = most_rows_;
    kv_.k.at = TRY(resources_.buffer(row_bytes * most_rows_, "keys"));
    kv_.v.at = TRY(resources_.buffer(row_bytes * most_rows_, "values"));
    sees_full_ = TRY(tensor("what rows see", most_rows_, 4));
    sees_sliding_ = TRY(tensor("what rows see in the window", most_rows_, 4));
    text_step_ = TRY(tensor("step of texts", 1, 4));
    text_rows_ = TRY(tensor("rows of texts", kMaxTexts, 2));
    embeddings_ = TRY(tensor("embeddings", kMaxTexts, config().embedding->size));
    return {};
}

void GpuEncoder::record_layers(kernels::Program& program, uint32_t rows) {
    GpuOps ops(program, *model_, t_, most_rows_, rows, nullptr);
    const Embedded embedded = infer::embed(program, ops, *model_, t_, rows, nullptr);
    const LayerSource source{.config = config(),
                             .table = model_->table(),
                             .vector = [this](const model::Weight& weight) { return model_->vector(weight); }};
    run_layers(ops, source, ops.begin(embedded.h, embedded.inputs),
               {.kv = std::vector<kernels::KvView>(config().layers.size(), kv_),
                .context = most_rows_,
                .normed = t_.xn,
                .sees_full = sees_full_,
                .sees_sliding = sees_sliding_});
}

// dense_3 · (dense_2 · pooled)
void GpuEncoder::record_vectors(kernels::Program& program, uint32_t texts) {
    GpuOps ops(program, *model_, t_, most_rows_, texts, nullptr);
    const gpu::Tensor pooled = program.scratch("pooled", texts, config().width);
    const gpu::Tensor hidden = program.scratch("dense hidden", texts, config().embedding->hidden);
    program.add(kernels::PoolRows{.x = t_.xn, .y = pooled, .texts = text_rows_, .count = texts});
    ops.multiply(model_->dense_first, pooled, hidden);
    ops.multiply(model_->dense_second, hidden, embeddings_);
}

Task<Result<gpu::Id>> GpuEncoder::layers(uint32_t rows, Cancel cancel) {
    if (const auto it = layer_programs_.find(rows); it != layer_programs_.end()) co_return it->second;
    kernels::Program program(resources_, t_.step, std::move(cancel));
    record_layers(program, rows);
    const gpu::Id id = CO_TRY(co_await program.compile());
    layer_programs_.emplace(rows, id);
    co_return id;
}

Task<Result<gpu::Id>> GpuEncoder::vectors(uint32_t texts, Cancel cancel) {
    if (const auto it = vector_programs_.find(texts); it != vector_programs_.end()) co_return it->second;
    kernels::Program program(resources_, text_step_, std::move(cancel));
    record_vectors(program, texts);
    const gpu::Id id = CO_TRY(co_await program.compile());
    vector_programs_.emplace(texts, id);
    co_return id;
}

Status GpuEncoder::check(std::span<const std::vector<int32_t>> texts) const {
    for (const std::vector<int32_t>& text : texts) {
        if (text.empty()) return fail(Code::invalid_argument, "there are no tokens");
        if (text.size() > context()) {
            return fail(Code::limit, "a text of {} tokens does not fit: {} are read at most", text.size(), context());
        }
        for (const int32_t token : text) {
            if (token >= 0 && uint32_t(token) < vocabulary()) continue;
            return fail(Code::invalid_argument, "token {} does not exist: the vocabulary has {}", token, vocabulary());
        }
    }
    return {};
}

size_t GpuEncoder::batch_of(std::span<const std::vector<int32_t>> texts) const {
    size_t count = 1;
    size_t tokens = texts[0].size();
    while (count < std::min<size_t>(texts.size(), kMaxTexts) && tokens + texts[count].size() <= options_.block) {
        tokens += texts[count++].size();
    }
    return count;
}

uint32_t GpuEncoder::program_rows(uint32_t tokens) const {
    const auto size = std::ranges::find_if(kSizes, [&](uint32_t rows) { return rows >= tokens; });
    return size == kSizes.end() ? most_rows_ : std::min(*size, most_rows_);
}

// Texts lie one behind the other, as if they were one: positions count for their differences alone, and no row sees another
// text. So a workgroup may take rows of two texts, and there are no gaps.
void GpuEncoder::write_batch(std::span<const std::vector<int32_t>> texts) {
    const uint32_t half = config().sliding_window / 2;
    const model::Pooling pooling = config().embedding->pooling;
    std::vector<int32_t> ids;
    std::vector<kernels::VisibleRow> full, sliding;
    std::vector<uint32_t> pooled;
    for (const std::vector<int32_t>& text : texts) {
        const auto begin = uint32_t(ids.size());
        const uint32_t end = begin + uint32_t(text.size());
        ids.insert(ids.end(), text.begin(), text.end());
        for (uint32_t row = begin; row < end; ++row) {
            full.push_back({.position = row, .first = begin, .end = end});
            sliding.push_back({.position = row,
                               .first = std::max(begin, row - std::min(row, half)),
                               .end = std::min(end, row + half + 1)});
        }
        pooled.push_back(pooling == model::Pooling::last ? end - 1 : begin);
        pooled.push_back(pooling == model::Pooling::first ? begin + 1 : end);
    }
    gpu::Device& device = resources_.device();
    write_all(device, t_.ids, ids);
    write_all(device, sees_full_, full);
    write_all(device, sees_sliding_, sliding);
    write_all(device, text_rows_, pooled);
    write_all<uint32_t>(device, t_.step, {0, uint32_t(ids.size()), 0, 0});
    write_all<uint32_t>(device, text_step_, {0, uint32_t(texts.size()), 0, 0});
}

Task<Result<std::vector<float>>> GpuEncoder::run_batch(std::span<const std::vector<int32_t>> texts) {
    uint32_t tokens = 0;
    for (const std::vector<int32_t>& text : texts) tokens += uint32_t(text.size());
    const gpu::Id through = CO_TRY(co_await layers(program_rows(tokens), {}));
    const uint32_t rows = *std::ranges::find_if(kSizes, [&](uint32_t size) { return size >= texts.size(); });
    const gpu::Id pooled = CO_TRY(co_await vectors(rows, {}));
    gpu::Device& device = resources_.device();
    write_batch(texts);
    device.run(through);
    device.run(pooled);
    std::vector<float> out(texts.size() * config().embedding->size);
    const auto bytes = CO_TRY(co_await device.read(embeddings_.at.buffer, 0, out.size() * sizeof(float), {}));
    std::memcpy(out.data(), bytes.data(), bytes.size());
    co_return out;
}

Task<Status> GpuEncoder::embed(std::span<const std::vector<int32_t>> texts, OnEmbedded take, Breathe breathe) {
    CO_TRY(check(texts));
    const size_t size = config().embedding->size;
    for (size_t done = 0; done < texts.size();) {
        const size_t count = batch_of(texts.subspan(done));
        const std::vector<float> all = CO_TRY(co_await run_batch(texts.subspan(done, count)));
        for (size_t i = 0; i < count; ++i) {
            const auto from = all.begin() + ptrdiff_t(i * size);
            take(done + i, std::vector<float>(from, from + ptrdiff_t(size)));
        }
        done += count;
        if (breathe) CO_TRY(co_await breathe());
    }
    co_return Status{};
}

Task<Result<std::vector<float>>> GpuEncoder::run(std::span<const int32_t> /*tokens*/, LogitsWanted /*wanted*/,
                                                 Breathe /*breathe*/) {
    CO_TRY(model::check_writes_text(config()));
    co_return std::vector<float>{};
}

Task<Status> GpuEncoder::save_state(PutState /*put*/) {
    co_return Status{};
}

Task<Status> GpuEncoder::load_state(std::span<const int32_t> /*tokens*/, GetState /*get*/) {
    co_return Status{};
}

Task<Status> GpuEncoder::set_adapters(std::span<const lora::Active> active) {
    if (active.empty()) co_return Status{};
    co_return fail(Code::unsupported, "adapters of models of embeddings run on the CPU only");
}

}  // namespace lapidary::infer
