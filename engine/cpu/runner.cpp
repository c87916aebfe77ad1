#include "cpu/runner.h"

#include <algorithm>
#include <cstring>

#include "base/edition.h"
#include "cpu/encoder.h"

namespace lapidary::cpu {

using infer::Depth;

namespace {

// Multiplications between two looks at whether to stop: some 10 ms.
constexpr uint64_t kSliceWork = 100'000'000;
// Bytes of the state that are handed out at a time.
constexpr uint64_t kStatePiece = 1 << 20;

}  // namespace

Result<std::unique_ptr<lapidary::Runner>> Runner::create(std::shared_ptr<Model> model, uint32_t context) {
    if (has_everything() && model->config().embedding) return TRY(Encoder::create(std::move(model), context));
    std::unique_ptr<Runner> out(new Runner(std::move(model), context));
    TRY(out->prepare());
    return out;
}

Status Runner::prepare() {
    for (uint32_t i = 0; i < config().layers.size(); ++i) {
        kernels::KvView view;
        if (config().owns_kv(i)) {
            const model::LayerConfig& layer = config().layers[i];
            const uint32_t most = layer.sliding ? config().sliding_window + kSlack : context_;
            view.ring = std::min(context_, most);
            for (gpu::Tensor* cache : {&view.k, &view.v}) {
                const uint64_t bytes = uint64_t{view.ring} * layer.kv_width() * sizeof(float);
                cache->at = {.buffer = 1, .offset = TRY(blocks_.take(bytes)), .size = bytes};
                caches_.push_back({.at = Address(cache->at.offset),
                                   .row_bytes = uint32_t(layer.kv_width() * sizeof(float)),
                                   .ring = view.ring,
                                   .most = most});
            }
        }
        kv_.push_back(view);
    }
    const auto tensor = [&](uint32_t rows, uint32_t cols) -> Result<gpu::Tensor> {
        const uint64_t bytes = uint64_t{rows} * cols * sizeof(float);
        return gpu::rows_in({.buffer = 1, .offset = TRY(blocks_.take(bytes)), .size = bytes}, rows, cols);
    };
    normed_ = TRY(tensor(kMaxRows, config().width));
    logits_ = TRY(tensor(kLogitRows, config().vocabulary));
    step_ = TRY(blocks_.take(sizeof(Step)));
    if (model_->per_layer_rows != nullptr) {
        const uint64_t cols = config().per_layer_width * config().layers.size();
        table_rows_ = TRY(blocks_.take(kMaxRows * cols * sizeof(float)));
    }
    return record();
}

Result<Runner::Program> Runner::placed(CpuOps&& ops) {
    Program out{.ops = TRY(std::move(ops).take())};
    out.at = TRY(recorded_->take_for(std::span<const Op>(out.ops)));
    return out;
}

Status Runner::record() {
    soft_ = nullptr;
    recorded_.emplace(model_->heap());
    const infer::LayerSource source{.config = config(),
                                    .table = model_->table(),
                                    .vector = [this](const model::Weight& w) { return model_->vector(w); }};
    const auto layers = [&](Depth depth) -> Result<Program> {
        CpuOps ops(*model_, scratch_, adapters_.get(), kMaxRows);
        const infer::Residual h = ops.begin(table_rows_);
        infer::run_layers(ops, source, h, {.kv = kv_, .context = context_, .depth = depth, .normed = normed_});
        return placed(std::move(ops));
    };
    keys_and_values_ = TRY(layers(Depth::keys_and_values));
    all_ = TRY(layers(Depth::all));
    CpuOps ops(*model_, scratch_, adapters_.get(), kLogitRows);
    ops.head(normed_, logits_);
    head_ = TRY(placed(std::move(ops)));
    return {};
}

void Runner::truncate(uint32_t length) {
    if (length >= position_) return;
    // A ring still holds what the window of `length` reaches back to unless too much was written over it since.
    const bool intact = furthest_ <= config().sliding_window + kSlack || furthest_ - length <= kSlack;
    position_ = intact ? length : 0;
    if (position_ == 0) furthest_ = 0;
}

Status Runner::check(std::span<const int32_t> tokens) const {
    if (tokens.size() > context_ - position_) {
        return fail(Code::limit, "{} tokens do not fit: the context holds {} and {} are in use", tokens.size(),
                    context_, position_);
    }
    for (const int32_t token : tokens) {
        if (token < 0 || uint32_t(token) >= vocabulary()) {
            return fail(Code::invalid_argument, "token {} does not exist: the vocabulary has {}", token, vocabulary());
        }
    }
    return {};
}

Task<Status> Runner::execute(const Program& program, uint32_t count, Breathe breathe) {
    for (size_t first = 0; first < program.ops.size();) {
        size_t end = first;
        for (uint64_t work = 0; end < program.ops.size() && work < kSliceWork; ++end) {
            work += uint64_t{program.ops[end].work} * count;
        }
        CO_TRY(machine().run(step_, Address(program.at + first * sizeof(Op)), uint32_t(end - first)));
        first = end;
        if (breathe) CO_TRY(co_await breathe());
    }
    co_return Status{};
}

Task<Status> Runner::run_block(std::span<const int32_t> tokens, Depth depth, Breathe breathe) {
    Step step{.position = position_, .count = uint32_t(tokens.size()), .ids = {}};
    std::ranges::copy(tokens, step.ids);
    if (model_->per_layer_rows != nullptr) {
        machine().write(table_rows_, CO_TRY(co_await model_->per_layer_rows->rows(tokens, {})));
    }
    machine().write(step_, {reinterpret_cast<const uint8_t*>(&step), sizeof(step)});
    // Rings are written from here on, whether or not it ends well.
    furthest_ = std::max(furthest_, position_ + step.count);
    CO_TRY(co_await execute(depth == Depth::all ? all_ : keys_and_values_, step.count, std::move(breathe)));
    position_ += step.count;
    co_return Status{};
}

std::vector<float> Runner::read(const gpu::Tensor& from, uint32_t rows) const {
    std::vector<float> out(size_t{rows} * from.cols);
    machine().read(Address(from.at.offset), {reinterpret_cast<uint8_t*>(out.data()), out.size() * sizeof(float)});
    return out;
}

Task<Result<std::vector<float>>> Runner::run(std::span<const int32_t> tokens, LogitsWanted wanted, Breathe breathe) {
    CO_TRY(check(tokens));
    const uint32_t start = position_;
    const bool all = wanted == LogitsWanted::all;
    std::vector<float> logits;
    Status status;
    for (size_t done = 0; done < tokens.size() && status;) {
        const size_t left = tokens.size() - done;
        // What only the last position needs is not done for the others.
        const bool shallow = !all && (left > 1 || wanted == LogitsWanted::none);
        const size_t most = shallow && wanted != LogitsWanted::none ? left - 1 : left;
        const auto block = tokens.subspan(done, std::min<size_t>(all ? kLogitRows : kMaxRows, most));
        done += block.size();
        status = co_await run_block(block, shallow ? Depth::keys_and_values : Depth::all, breathe);
        if (!status || shallow) continue;
        const auto rows = uint32_t(block.size());
        status = co_await execute(head_, rows, breathe);
        if (!status) continue;
        const std::vector<float> part = read(logits_, rows);
        logits.insert(logits.end(), part.begin(), part.end());
    }
    if (!status) {
        truncate(start);
        co_return std::unexpected(std::move(status).error());
    }
    co_return logits;
}

Task<Status> Runner::embed(std::span<const std::vector<int32_t>> texts, OnEmbedded take, Breathe breathe) {
    for (size_t i = 0; i < texts.size(); ++i) {
        truncate(0);
        auto mean = co_await mean_state(texts[i], breathe);
        truncate(0);
        take(i, CO_TRY(std::move(mean)));
    }
    co_return Status{};
}

Task<Result<std::vector<float>>> Runner::mean_state(std::span<const int32_t> tokens, const Breathe& breathe) {
    CO_TRY(check(tokens));
    const size_t d = config().width;
    std::vector<double> sum(d);
    for (size_t done = 0; done < tokens.size();) {
        const auto block = tokens.subspan(done, std::min<size_t>(kMaxRows, tokens.size() - done));
        done += block.size();
        CO_TRY(co_await run_block(block, Depth::all, breathe));
        const std::vector<float> rows = read(normed_, uint32_t(block.size()));
        for (size_t i = 0; i < rows.size(); ++i) sum[i % d] += double(rows[i]);
    }
    std::vector<float> mean(d);
    for (size_t i = 0; i < d; ++i) mean[i] = float(sum[i] / double(std::max<size_t>(tokens.size(), 1)));
    co_return mean;
}

uint64_t Runner::state_bytes(uint32_t positions) const {
    uint64_t bytes = sizeof(furthest_);
    for (const Cache& cache : caches_) bytes += uint64_t{std::min(positions, cache.most)} * cache.row_bytes;
    return bytes;
}

std::vector<Runner::Range> Runner::ranges(uint32_t positions) const {
    std::vector<Range> out;
    for (const Cache& cache : caches_) {
        uint32_t count = 0;
        for (uint32_t at = positions - std::min(positions, cache.most); at < positions; at += count) {
            const auto piece = uint32_t(std::max<uint64_t>(1, kStatePiece / cache.row_bytes));
            count = std::min({positions - at, cache.ring - at % cache.ring, piece});
            out.push_back({.at = Address(cache.at + uint64_t{at % cache.ring} * cache.row_bytes),
                           .bytes = count * cache.row_bytes});
        }
    }
    return out;
}

Task<Status> Runner::save_state(PutState put) {
    // How much of the past the rings still have depends on how far they were written.
    Bytes bytes(sizeof(furthest_));
    std::memcpy(bytes.data(), &furthest_, bytes.size());
    CO_TRY(co_await put(std::move(bytes)));
    for (const Range& range : ranges(position_)) {
        bytes = Bytes(range.bytes);
        machine().read(range.at, bytes);
        CO_TRY(co_await put(std::move(bytes)));
    }
    co_return Status{};
}

Task<Status> Runner::load_state(std::span<const int32_t> tokens, GetState get) {
    truncate(0);
    const auto positions = uint32_t(tokens.size());
    uint32_t furthest = 0;
    const Bytes first = CO_TRY(co_await get(sizeof(furthest)));
    std::memcpy(&furthest, first.data(), sizeof(furthest));
    if (furthest < positions) co_return fail(Code::bad_file, "the saved session is damaged: it was never that long");
    for (const Range& range : ranges(positions)) machine().write(range.at, CO_TRY(co_await get(range.bytes)));
    position_ = positions;
    furthest_ = furthest;
    co_return Status{};
}

Task<Status> Runner::set_adapters(std::span<const lora::Active> active) {
    truncate(0);
    if (active.empty() && adapters_ == nullptr) co_return Status{};
    if (!has_everything()) co_return fail(Code::needs_everything, "adapters take part");
    adapters_ = nullptr;
    Status status = lora::check_fits(active, model_->table());
    if (status && !active.empty()) {
        auto made = Adapters::create(*model_, active);
        if (made) adapters_ = std::move(*made);
        if (!made) status = std::unexpected(std::move(made).error());
    }
    const Status recorded = record();
    co_return status ? recorded : status;
}

}  // namespace lapidary::cpu
