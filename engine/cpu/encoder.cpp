#include "cpu/encoder.h"

#include <algorithm>

namespace lapidary::cpu {
namespace {

// Tokens that go through the layers together unless one text has more: each weight is unpacked once for kMaxRows of them, so
// more would gain nothing.
constexpr uint32_t kTokensTogether = 256;

template <class T>
std::span<const uint8_t> bytes_of_all(std::span<const T> values) {
    return {reinterpret_cast<const uint8_t*>(values.data()), values.size_bytes()};
}

gpu::Tensor memory_at(Address at, uint64_t bytes) {
    return {.at = {.buffer = 1, .offset = at, .size = bytes}};
}

}  // namespace

Result<std::unique_ptr<Encoder>> Encoder::create(std::shared_ptr<Model> model, uint32_t context) {
    std::unique_ptr<Encoder> out(new Encoder(std::move(model), context));
    TRY(out->prepare());
    return out;
}

Result<gpu::Tensor> Encoder::tensor(uint32_t rows, uint32_t cols) {
    const uint64_t bytes = uint64_t{rows} * cols * sizeof(float);
    return gpu::rows_in({.buffer = 1, .offset = TRY(blocks_.take(bytes)), .size = bytes}, rows, cols);
}

Status Encoder::prepare() {
    most_rows_ = (std::max(context_, kTokensTogether) + kMaxRows - 1) / kMaxRows * kMaxRows;
    uint32_t width = 0;
    for (const model::LayerConfig& layer : config().layers) width = std::max(width, layer.kv_width());
    for (kernels::KvView& view : kv_) {
        view.ring = most_rows_;
        view.k = TRY(tensor(most_rows_, width));
        view.v = TRY(tensor(most_rows_, width));
    }
    normed_ = TRY(tensor(most_rows_, config().width));
    pooled_ = TRY(tensor(kMaxRows, config().width));
    hidden_ = TRY(tensor(kMaxRows, config().embedding->hidden));
    vectors_ = TRY(tensor(kMaxRows, config().embedding->size));
    dense_step_ = TRY(blocks_.take(sizeof(Step)));
    TRY(record_dense());
    return make_pieces(1);
}

Status Encoder::make_pieces(uint32_t count) {
    while (pieces_.size() < count) {
        Piece& piece = pieces_.emplace_back(model_->heap());
        const Status recorded = record(piece, uint32_t(pieces_.size() - 1) * kMaxRows);
        if (!recorded) pieces_.pop_back();
        TRY(recorded);
    }
    return {};
}

Status Encoder::record(Piece& piece, uint32_t first_row) {
    piece.step = TRY(piece.blocks.take(sizeof(Step)));
    piece.sees_full = TRY(piece.blocks.take(kMaxRows * sizeof(Sight)));
    piece.sees_sliding = TRY(piece.blocks.take(kMaxRows * sizeof(Sight)));
    const infer::LayerSource source{.config = config(),
                                    .table = model_->table(),
                                    .vector = [this](const model::Weight& w) { return model_->vector(w); }};
    CpuOps ops(*model_, scratch_, nullptr, kMaxRows, &piece.kept);
    const infer::Residual h = ops.begin(0);
    std::vector<kernels::KvView> kv;
    for (uint32_t i = 0; i < config().layers.size(); ++i) kv.push_back(kv_[i % 2]);
    infer::run_layers(ops, source, h,
                      {.kv = std::move(kv),
                       .context = most_rows_,
                       .normed = normed_.row_range(first_row, kMaxRows),
                       .sees_full = memory_at(piece.sees_full, kMaxRows * sizeof(Sight)),
                       .sees_sliding = memory_at(piece.sees_sliding, kMaxRows * sizeof(Sight))});
    const std::vector<Op> all = TRY(std::move(ops).take());
    for (uint32_t i = 0; i < all.size(); ++i) {
        if (all[i].kind == Kind::heads) piece.ends.push_back(i + 1);
    }
    piece.ends.push_back(uint32_t(all.size()));
    piece.ops = TRY(piece.blocks.take_for(std::span(all)));
    return {};
}

// dense_3 · (dense_2 · pooled)
Status Encoder::record_dense() {
    CpuOps ops(*model_, scratch_, nullptr, kMaxRows);
    ops.multiply_all(model_->dense_first, pooled_, hidden_);
    ops.multiply_all(model_->dense_second, hidden_, vectors_);
    const std::vector<Op> all = TRY(std::move(ops).take());
    dense_count_ = uint32_t(all.size());
    dense_ops_ = TRY(blocks_.take_for(std::span(all)));
    return {};
}

Status Encoder::check(Texts texts) const {
    for (const std::vector<int32_t>& text : texts) {
        if (text.empty()) return fail(Code::invalid_argument, "there are no tokens");
        if (text.size() > context_) {
            return fail(Code::limit, "a text of {} tokens does not fit: {} are read at most", text.size(), context_);
        }
        for (const int32_t token : text) {
            if (token >= 0 && uint32_t(token) < vocabulary()) continue;
            return fail(Code::invalid_argument, "token {} does not exist: the vocabulary has {}", token, vocabulary());
        }
    }
    return {};
}

// Positions count for their differences alone, so a row's is its place in the batch.
void Encoder::write_rows(Texts texts) {
    const uint32_t half = config().sliding_window / 2;
    std::vector<int32_t> ids;
    std::vector<Sight> full, sliding;
    for (const std::vector<int32_t>& text : texts) {
        const auto begin = uint32_t(ids.size());
        const uint32_t end = begin + uint32_t(text.size());
        ids.insert(ids.end(), text.begin(), text.end());
        for (uint32_t row = begin; row < end; ++row) {
            full.push_back({begin, end});
            sliding.push_back({std::max(begin, row - std::min(row, half)), std::min(end, row + half + 1)});
        }
    }
    uint32_t first = 0;
    for (Piece& piece : pieces_) {
        if (first >= ids.size()) break;
        const auto count = std::min(kMaxRows, uint32_t(ids.size()) - first);
        Step step{.position = first, .count = count, .ids = {}};
        std::ranges::copy(std::span(ids).subspan(first, count), step.ids);
        machine().write(piece.step, bytes_of_all(std::span<const Step>(&step, 1)));
        machine().write(piece.sees_full, bytes_of_all(std::span<const Sight>(full).subspan(first, count)));
        machine().write(piece.sees_sliding, bytes_of_all(std::span<const Sight>(sliding).subspan(first, count)));
        first += count;
    }
}

Task<Status> Encoder::run_layers(uint32_t tokens, Breathe breathe) {
    const size_t parts = pieces_.front().ends.size();
    for (size_t part = 0; part < parts; ++part) {
        for (uint32_t i = 0; i * kMaxRows < tokens; ++i) {
            const Piece& piece = pieces_[i];
            const uint32_t first = part == 0 ? 0 : piece.ends[part - 1];
            CO_TRY(machine().run(piece.step, Address(piece.ops + first * sizeof(Op)), piece.ends[part] - first));
            if (breathe) CO_TRY(co_await breathe());
        }
    }
    co_return Status{};
}

std::vector<float> Encoder::pooled(uint32_t first, uint32_t end) const {
    const model::Pooling pooling = config().embedding->pooling;
    if (pooling == model::Pooling::first) end = first + 1;
    if (pooling == model::Pooling::last) first = end - 1;
    const size_t d = config().width;
    std::vector<float> states((end - first) * d);
    machine().read(Address(normed_.at.offset + first * d * sizeof(float)),
                   {reinterpret_cast<uint8_t*>(states.data()), states.size() * sizeof(float)});
    std::vector<double> sum(d);
    for (size_t i = 0; i < states.size(); ++i) sum[i % d] += double(states[i]);
    std::vector<float> mean(d);
    for (size_t i = 0; i < d; ++i) mean[i] = float(sum[i] / double(end - first));
    return mean;
}

Task<Result<std::vector<float>>> Encoder::vectors(std::vector<float> means, uint32_t count) {
    const size_t size = config().embedding->size;
    std::vector<float> out(count * size);
    for (uint32_t done = 0; done < count; done += kMaxRows) {
        const uint32_t rows = std::min(kMaxRows, count - done);
        const Step step{.position = 0, .count = rows, .ids = {}};
        const auto some = std::span<const float>(means).subspan(done * config().width, rows * config().width);
        machine().write(dense_step_, bytes_of_all(std::span<const Step>(&step, 1)));
        machine().write(Address(pooled_.at.offset), bytes_of_all(some));
        CO_TRY(machine().run(dense_step_, dense_ops_, dense_count_));
        machine().read(Address(vectors_.at.offset),
                       {reinterpret_cast<uint8_t*>(out.data() + done * size), rows * size * sizeof(float)});
    }
    co_return out;
}

Task<Status> Encoder::embed(Texts texts, OnEmbedded take, Breathe breathe) {
    CO_TRY(check(texts));
    for (size_t done = 0; done < texts.size();) {
        size_t end = done;
        uint32_t tokens = 0;
        do {
            tokens += uint32_t(texts[end++].size());
        } while (end < texts.size() && tokens + texts[end].size() <= kTokensTogether);
        const Texts batch = texts.subspan(done, end - done);
        CO_TRY(make_pieces((tokens + kMaxRows - 1) / kMaxRows));
        write_rows(batch);
        CO_TRY(co_await run_layers(tokens, breathe));
        std::vector<float> means;
        uint32_t row = 0;
        for (const std::vector<int32_t>& text : batch) {
            const std::vector<float> mean = pooled(row, row + uint32_t(text.size()));
            means.insert(means.end(), mean.begin(), mean.end());
            row += uint32_t(text.size());
        }
        const auto all = CO_TRY(co_await vectors(std::move(means), uint32_t(batch.size())));
        const size_t size = config().embedding->size;
        for (; done < end; ++done) {
            const auto from = all.end() - ptrdiff_t((end - done) * size);
            take(done, std::vector<float>(from, from + ptrdiff_t(size)));
        }
    }
    co_return Status{};
}

Task<Result<std::vector<float>>> Encoder::run(std::span<const int32_t> /*tokens*/, LogitsWanted /*wanted*/,
                                              Breathe /*breathe*/) {
    CO_TRY(model::check_writes_text(config()));
    co_return std::vector<float>{};
}

Task<Status> Encoder::save_state(PutState /*put*/) {
    co_return Status{};
}

Task<Status> Encoder::load_state(std::span<const int32_t> /*tokens*/, GetState /*get*/) {
    co_return Status{};
}

Task<Status> Encoder::set_adapters(std::span<const lora::Active> active) {
    if (active.empty()) co_return Status{};
    co_return fail(Code::unsupported, "models of embeddings take no adapters");
}

}  // namespace lapidary::cpu
