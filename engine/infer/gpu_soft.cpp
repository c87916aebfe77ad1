// Images and sounds in a text, on the GPU: rows that come from a tower, and whom they see.
#include <algorithm>

#include "base/edition.h"
#include "infer/embedding.h"
#include "infer/gpu_ops.h"
#include "infer/gpu_runner.h"
#include "kernels/attention/visible_table.h"

namespace lapidary::infer {
namespace {

template <class T>
std::span<const uint8_t> raw_bytes(std::span<const T> values) {
    return {reinterpret_cast<const uint8_t*>(values.data()), values.size_bytes()};
}

}  // namespace

void GpuPrograms::record_soft_layers(kernels::Program& program, uint32_t block, Depth depth, Sight sight) {
    const auto ops = ops_for(program, block);
    // The rows become the stream where they are: they are written anew before every run.
    const Embedded embedded = embed_soft(program, *ops, *model_, t_, soft_, block);
    Pass pass{.kv = t_.kv, .context = options_.context, .depth = depth, .normed = t_.xn};
    if (sight != Sight::causal) pass.sees_sliding = seen_sliding_;
    if (sight == Sight::both_ways) pass.sees_full = seen_full_;
    run_layers(*ops, layer_source(), ops->begin(embedded.h, embedded.inputs), pass);
}

Task<Result<gpu::Id>> GpuPrograms::soft_layers(uint32_t block, Depth depth, Sight sight, Cancel cancel) {
    auto& programs = adapters_ != nullptr ? adapters_->programs.layers : programs_.layers;
    constexpr uint8_t kDepths = 2;  // those of tokens come first
    const auto key = std::pair(block, uint8_t(uint8_t(depth) + kDepths * (1 + uint8_t(sight))));
    if (const auto it = programs.find(key); it != programs.end()) co_return it->second;
    kernels::Program program = begin(cancel);
    record_soft_layers(program, block, depth, sight);
    const gpu::Id id = CO_TRY(co_await program.compile());
    programs.emplace(key, id);
    co_return id;
}

Status GpuPrograms::write_soft(std::span<const float> rows, Sight sight, uint32_t block, uint32_t position) {
    const uint32_t d = config().width;
    if (!soft_) {
        const auto tensor = [&](std::string_view label, uint64_t cols) -> Result<gpu::Tensor> {
            const gpu::Binding buffer = TRY(resources_.buffer(kMaxBlock * cols * sizeof(float), label));
            return gpu::rows_in(buffer, kMaxBlock, uint32_t(cols));
        };
        soft_ = TRY(tensor("soft tokens", d));
        seen_sliding_ = TRY(tensor("seen on sliding layers", 4));
        seen_full_ = TRY(tensor("seen on full layers", 4));
    }
    device().write(soft_.at.buffer, soft_.at.offset, raw_bytes(rows));
    if (sight == Sight::causal) return {};
    const auto count = uint32_t(rows.size() / d);
    const uint32_t window = config().sliding_window;
    std::vector<kernels::VisibleRow> sliding(block);
    std::vector<kernels::VisibleRow> full(block);
    for (uint32_t i = 0; i < block; ++i) {  // what is behind the last row is as it is
        const uint32_t at = position + std::min(i, count - 1);
        const uint32_t first = at + 1 - std::min(at + 1, window);
        sliding[i] = {.position = at, .first = first, .end = position + count};
        full[i] = {.position = at, .first = 0, .end = position + count};
    }
    device().write(seen_sliding_.at.buffer, seen_sliding_.at.offset, raw_bytes<kernels::VisibleRow>(sliding));
    device().write(seen_full_.at.buffer, seen_full_.at.offset, raw_bytes<kernels::VisibleRow>(full));
    return {};
}

Task<Result<std::vector<float>>> GpuRunner::run_soft_block(SoftTokens soft, Depth depth, uint32_t logit_rows,
                                                           bool keep) {
    gpu::Device& device = programs_->device();
    const auto count = uint32_t(soft.rows.size() / programs_->config().width);
    // Of one token everything would be fused, and read from a table of tokens.
    const uint32_t block =
        *std::ranges::find_if(GpuPrograms::kBlocks, [&](uint32_t size) { return size > 1 && size >= count; });
    CO_TRY(programs_->write_soft(soft.rows, soft.sight, block, position_));
    const gpu::Id layers = CO_TRY(co_await programs_->soft_layers(block, depth, soft.sight, {}));
    const std::vector<int32_t> padding(count, kPadToken);
    CO_TRY(co_await programs_->write_rows(padding, {}));
    programs_->write_tokens(padding);
    write_history(device, programs_->tensors(), position_, padding);
    programs_->write_step(position_, count);
    device.run(layers);
    position_ += count;
    furthest_ = std::max(furthest_, position_);
    std::vector<float> logits;
    for (uint32_t done = 0; done < logit_rows;) {
        const uint32_t rows = std::min(logit_rows - done, kLogitRows);
        // The head's products have as many rows as the step has tokens, and there is room for no more.
        if (logit_rows > 1) programs_->write_step(position_ - logit_rows + done, rows);
        device.run(CO_TRY(co_await programs_->head(count - logit_rows + done, rows, {})));
        done += rows;
        if (keep) continue;
        const size_t some = size_t{rows} * vocabulary();
        const auto bytes =
            CO_TRY(co_await device.read(programs_->tensors().logits.at.buffer, 0, some * sizeof(float), {}));
        logits.resize(logits.size() + some);
        std::memcpy(logits.data() + logits.size() - some, bytes.data(), bytes.size());
    }
    co_return logits;
}

// No coroutine, so that the small edition has none of what stands behind it.
Task<Result<std::vector<float>>> GpuRunner::run_soft(SoftTokens soft, LogitsWanted wanted, Breathe breathe) {
    if (!has_everything()) return Runner::run_soft(soft, wanted, std::move(breathe));
    return run_soft_blocks(soft, wanted, std::move(breathe));
}

Task<Result<std::vector<float>>> GpuRunner::run_soft_blocks(SoftTokens soft, LogitsWanted wanted, Breathe breathe) {
    const size_t d = programs_->config().width;
    if (soft.rows.empty() || soft.rows.size() % d != 0) {
        co_return fail(Code::invalid_argument, "{} numbers are no soft tokens of {}", soft.rows.size(), d);
    }
    const size_t count = soft.rows.size() / d;
    if (count > context() - position_) {
        co_return fail(Code::limit, "{} tokens do not fit: the context holds {} and {} are in use", count, context(),
                       position_);
    }
    if (soft.sight != Sight::causal && count > kMaxBlock) {
        co_return fail(Code::limit,
                       "the GPU takes pictures of up to {} tokens for this model, and this one has {}: use a smaller "
                       "budget, or the CPU",
                       kMaxBlock, count);
    }
    const uint32_t start = position_;
    const size_t most = soft.sight == Sight::causal ? std::max(programs_->options().block, 2u) : count;
    const bool can_skip = programs_->config().shared_kv_layers > 0;
    std::vector<float> logits;
    Status status;
    for (size_t done = 0; done < count && status;) {
        const size_t some = std::min(most, count - done);
        const SoftTokens part{.rows = soft.rows.subspan(done * d, some * d), .sight = soft.sight};
        done += some;
        const bool last = done == count && wanted != LogitsWanted::none;
        const auto rows = uint32_t(wanted == LogitsWanted::all ? some : last ? 1 : 0);
        const Depth depth = can_skip && rows == 0 ? Depth::keys_and_values : Depth::all;
        auto out = co_await run_soft_block(part, depth, rows, wanted == LogitsWanted::kept);
        if (!out) {
            status = std::unexpected(std::move(out).error());
            break;
        }
        logits.insert(logits.end(), out->begin(), out->end());
        if (breathe) status = co_await breathe();
    }
    if (status && wanted == LogitsWanted::none) status = co_await programs_->device().sync({});
    if (!status) {
        truncate(start);
        co_return std::unexpected(std::move(status).error());
    }
    co_return logits;
}

}  // namespace lapidary::infer
