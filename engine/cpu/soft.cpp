// Images and sounds in a text, on packed weights: rows that come from a tower, and whom they see. Rows that see one another lie in
// pieces of kMaxRows, all of which have stored a layer's keys and values before any of them looks at those.
#include <algorithm>
#include <deque>

#include "base/edition.h"
#include "cpu/runner.h"

namespace lapidary::cpu {
namespace {

// The keys that a row sees, as attention reads it.
struct Sees {
    uint32_t first, end;
};

template <class T>
std::span<const uint8_t> bytes_of(std::span<const T> values) {
    return {reinterpret_cast<const uint8_t*>(values.data()), values.size_bytes()};
}

gpu::Tensor place_at(Address at, uint64_t bytes) {
    return {.at = {.buffer = 1, .offset = at, .size = bytes}};
}

}  // namespace

// kMaxRows rows on their way through the layers.
struct SoftPiece {
    explicit SoftPiece(Heap& heap) : kept(heap), blocks(heap) {}
    Scratch kept;  // what other pieces must not touch while they have their turn
    Blocks blocks;
    Address step = 0, rows = 0, table_rows = 0, sees_full = 0, sees_sliding = 0, ops = 0;
    gpu::Tensor normed;
    std::vector<uint32_t> ends;  // of the parts between which others have their turn, in ops
};
struct SoftLayers {
    std::deque<SoftPiece> pieces;
};

// No coroutine, so that the small edition has none of what stands behind it.
Task<Result<std::vector<float>>> Runner::run_soft(SoftTokens soft, LogitsWanted wanted, Breathe breathe) {
    if (!has_everything()) return lapidary::Runner::run_soft(soft, wanted, std::move(breathe));
    return run_soft_blocks(soft, wanted, std::move(breathe));
}

Status Runner::record_soft(uint32_t pieces) {
    if (soft_ == nullptr) soft_ = std::make_shared<SoftLayers>();
    while (soft_->pieces.size() < pieces) {
        const Status recorded = record_piece(soft_->pieces.emplace_back(model_->heap()));
        if (!recorded) soft_->pieces.pop_back();
        TRY(recorded);
    }
    return {};
}

Status Runner::record_piece(SoftPiece& piece) {
    const uint64_t width = config().width * sizeof(float);
    constexpr uint64_t kSees = kMaxRows * sizeof(Sees);
    piece.step = TRY(piece.blocks.take(sizeof(Step)));
    piece.rows = TRY(piece.blocks.take(kMaxRows * width));
    piece.sees_full = TRY(piece.blocks.take(kSees));
    piece.sees_sliding = TRY(piece.blocks.take(kSees));
    const Address normed = TRY(piece.blocks.take(kMaxRows * width));
    piece.normed = gpu::rows_in(place_at(normed, kMaxRows * width).at, kMaxRows, config().width);
    if (model_->per_layer_rows != nullptr) {
        const uint64_t cols = config().per_layer_width * config().layers.size();
        piece.table_rows = TRY(piece.blocks.take(kMaxRows * cols * sizeof(float)));
    }
    const infer::LayerSource source{.config = config(),
                                    .table = model_->table(),
                                    .vector = [this](const model::Weight& w) { return model_->vector(w); }};
    CpuOps ops(*model_, scratch_, adapters_.get(), kMaxRows, &piece.kept);
    const infer::Residual h = ops.begin(piece.table_rows, piece.rows);
    infer::run_layers(ops, source, h,
                      {.kv = kv_,
                       .context = context_,
                       .normed = piece.normed,
                       .sees_full = place_at(piece.sees_full, kSees),
                       .sees_sliding = place_at(piece.sees_sliding, kSees)});
    const std::vector<Op> all = TRY(std::move(ops).take());
    for (uint32_t i = 0; i < all.size(); ++i) {
        if (all[i].kind == Kind::heads) piece.ends.push_back(i + 1);
    }
    piece.ends.push_back(uint32_t(all.size()));
    piece.ops = TRY(piece.blocks.take_for(std::span(all)));
    return {};
}

// From the position on; it stays where it is.
Task<Status> Runner::run_soft_layers(SoftTokens soft, const Breathe& breathe) {
    const size_t d = config().width;
    const auto count = uint32_t(soft.rows.size() / d);
    const uint32_t pieces = (count + kMaxRows - 1) / kMaxRows;
    CO_TRY(record_soft(pieces));
    const uint32_t window = config().sliding_window;
    for (uint32_t i = 0; i < pieces; ++i) {
        const SoftPiece& piece = soft_->pieces[i];
        const uint32_t first = i * kMaxRows;
        const uint32_t rows = std::min(kMaxRows, count - first);
        Step step{.position = position_ + first, .count = rows, .ids = {}};
        std::ranges::fill(step.ids, kPadToken);
        std::vector<Sees> full, sliding;
        for (uint32_t at = step.position; at < step.position + rows; ++at) {
            const uint32_t everybody = position_ + count;
            full.push_back({0, soft.sight == Sight::both_ways ? everybody : at + 1});
            sliding.push_back({at + 1 - std::min(at + 1, window), soft.sight == Sight::causal ? at + 1 : everybody});
        }
        machine().write(piece.step, bytes_of(std::span<const Step>(&step, 1)));
        machine().write(piece.rows, bytes_of(soft.rows.subspan(first * d, rows * d)));
        machine().write(piece.sees_full, bytes_of(std::span<const Sees>(full)));
        machine().write(piece.sees_sliding, bytes_of(std::span<const Sees>(sliding)));
        if (model_->per_layer_rows != nullptr) {
            const std::vector<int32_t> padding(rows, kPadToken);
            machine().write(piece.table_rows, CO_TRY(co_await model_->per_layer_rows->rows(padding, {})));
        }
    }
    furthest_ = std::max(furthest_, position_ + count);
    const size_t parts = soft_->pieces.front().ends.size();
    for (size_t part = 0; part < parts; ++part) {
        for (uint32_t i = 0; i < pieces; ++i) {
            const SoftPiece& piece = soft_->pieces[i];
            const uint32_t first = part == 0 ? 0 : piece.ends[part - 1];
            CO_TRY(machine().run(piece.step, Address(piece.ops + first * sizeof(Op)), piece.ends[part] - first));
            if (breathe) CO_TRY(co_await breathe());
        }
    }
    co_return Status{};
}

// Of rows of the last run.
Task<Result<std::vector<float>>> Runner::soft_logits(uint32_t first, uint32_t count, Breathe breathe) {
    std::vector<float> logits;
    for (uint32_t done = 0; done < count;) {
        const uint32_t row = first + done;
        const uint32_t rows = std::min({kLogitRows, count - done, kMaxRows - row % kMaxRows});
        const gpu::Tensor normed = soft_->pieces[row / kMaxRows].normed.row_range(row % kMaxRows, rows);
        const std::vector<float> states = read(normed, rows);
        machine().write(Address(normed_.at.offset), bytes_of(std::span<const float>(states)));
        const Step step{.position = 0, .count = rows, .ids = {}};
        machine().write(step_, bytes_of(std::span<const Step>(&step, 1)));
        CO_TRY(co_await execute(head_, rows, breathe));
        const std::vector<float> some = read(logits_, rows);
        logits.insert(logits.end(), some.begin(), some.end());
        done += rows;
    }
    co_return logits;
}

Task<Result<std::vector<float>>> Runner::run_soft_blocks(SoftTokens soft, LogitsWanted wanted, Breathe breathe) {
    const size_t d = config().width;
    if (soft.rows.empty() || soft.rows.size() % d != 0) {
        co_return fail(Code::invalid_argument, "{} numbers are no soft tokens of {}", soft.rows.size(), d);
    }
    const size_t count = soft.rows.size() / d;
    if (count > context_ - position_) {
        co_return fail(Code::limit, "{} tokens do not fit: the context holds {} and {} are in use", count, context_,
                       position_);
    }
    const bool causal = soft.sight == Sight::causal;
    if (!causal && count > kSlack) {
        co_return fail(Code::limit, "pictures of up to {} tokens are taken here, and this one has {}", kSlack, count);
    }
    const uint32_t start = position_;
    const size_t most = causal ? kMaxRows : count;
    std::vector<float> logits;
    Status status;
    for (size_t done = 0; done < count && status;) {
        const auto some = uint32_t(std::min(most, count - done));
        status =
            co_await run_soft_layers({.rows = soft.rows.subspan(done * d, some * d), .sight = soft.sight}, breathe);
        done += some;
        if (!status) break;
        position_ += some;
        const bool all = wanted == LogitsWanted::all;
        if (!all && (done < count || wanted == LogitsWanted::none)) continue;
        auto part = co_await soft_logits(all ? 0 : some - 1, all ? some : 1, breathe);
        if (part) logits.insert(logits.end(), part->begin(), part->end());
        if (!part) status = std::unexpected(std::move(part).error());
    }
    if (!status) {
        truncate(start);
        co_return std::unexpected(std::move(status).error());
    }
    co_return logits;
}

}  // namespace lapidary::cpu
