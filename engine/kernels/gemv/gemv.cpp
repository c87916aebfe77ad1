#include "kernels/gemv/gemv.h"

#include "base/checked.h"
#include "base/edition.h"
#include "base/format.h"
#include "kernels/wgsl_modules.h"

namespace lapidary::kernels {
namespace {

PrologueCost cost_of(const Gemv& op) {
    if (std::holds_alternative<ReadyX>(op.prologue)) return PrologueCost::none;
    constexpr uint64_t kLongNorm = 2048;
    const bool dear = op.y.element == gpu::Element::limbs || std::holds_alternative<MergeSplitsX>(op.prologue) ||
                      (std::holds_alternative<AddRmsNormX>(op.prologue) && op.w.cols > kLongNorm);
    return dear ? PrologueCost::dear : PrologueCost::cheap;
}

GemvTiling tiling_of(const Gemv& op, const gpu::Info& info) {
    if (op.tiling) return *op.tiling;
    // Weights that are loaded early stay in registers meanwhile, and where there are many workgroups, registers are what limits
    // how many run at a time. To software it is a second copy of the loop to compile, and no memory is far away.
    constexpr uint64_t kFewGroups = 2ull * 132;  // two for each compute unit of an H200
    const bool pairs = is_gelu_gate(op.epilogue);
    GemvTiling out = gemv_tiling(info, pairs ? 2 * op.out : op.out, op.w.cols, pairs, cost_of(op));
    const bool has_room = !pairs || ceil_div(op.out, out.outputs(pairs)) <= kFewGroups;
    out.prefetch = !std::holds_alternative<ReadyX>(op.prologue) && has_room && !info.software;
    return out;
}

void fill_prologue(Call<wgsl::gemv>& d, const Prologue& prologue) {
    if (std::holds_alternative<ReadyX>(prologue)) {
        d.fill<wgsl::prologue_ready>("prologue");
    } else if (const auto* norm = std::get_if<AddRmsNormX>(&prologue)) {
        using B = wgsl::prologue_add_rms_norm::Binding;
        d.fill<wgsl::prologue_add_rms_norm>("prologue",
                                            {.kAdd = norm->delta.exists(), .kNext = norm->next, .kEps = norm->eps});
        d.read(B::delta, norm->delta).read(B::norms, norm->weights).write(B::h, norm->h_out);
    } else if (const auto* splits = std::get_if<MergeSplitsX>(&prologue)) {
        d.fill<wgsl::prologue_merge_splits>(
            "prologue", {.kHeadDim = splits->head_dim, .kWindow = splits->window, .kMaxSplits = splits->max_splits});
        d.read(wgsl::prologue_merge_splits::Binding::stats, splits->stats);
    } else {
        d.fill<wgsl::prologue_floats>("prologue");
    }
}

}  // namespace

SecondFormat second_format(const Weights& w, const Weights& below) {
    const gpu::Binding& second = below.pieces[0].binding;
    SecondFormat out{.weights = w.pieces[0].binding,
                     .first_rows = w.pieces[0].rows,
                     .second_at = second.offset / gpu_bytes(below.format, 1, below.cols)};
    out.weights.size = second.offset + second.size;
    return out;
}

bool can_join(const Weights& w, const Weights& below) {
    constexpr uint64_t kMaxRows = 4;  // of a group of threads: they must not be in both
    return w.pieces.size() == 1 && below.pieces.size() == 1 &&
           w.pieces[0].binding.buffer == below.pieces[0].binding.buffer && w.rows % kMaxRows == 0 &&
           holds_whole_numbers(w.format) && holds_whole_numbers(below.format);
}

Result<Dispatch> Gemv::dispatch(const Target& target) const {
    using B = wgsl::gemv::Binding;
    const bool pairs = is_gelu_gate(epilogue);
    const GemvTiling division = tiling_of(*this, target.info);
    const uint32_t outputs = division.outputs(pairs);
    const bool limbs = y.element == gpu::Element::limbs;
    const bool one = tokens == 1 && !experts;
    // Products that differ in nothing but where their rows go and how many they are share a pipeline: the GPU's caches have
    // room for the code of about one layer (docs/performance.md).
    const bool binds_offset = one && y_offset * sizeof(float) % kBindingAlignment == 0;
    const bool grid_says_rows = one && !pairs && !limbs && out % outputs == 0;

    wgsl::gemv::Constants c{.kCols = w.cols};
    c.kYOffset = binds_offset ? 0 : y_offset;
    c.kThreads = division.threads;
    c.kThreadsPerRow = division.threads_per_row;
    c.kRowsPerGroup = division.rows;
    c.kPrefetch = division.prefetch;
    if (!grid_says_rows) c.kOut = out;
    Call<wgsl::gemv> d(c, {w.format, below != nullptr ? std::optional(below->format) : std::nullopt});
    gpu::Tensor weights{.at = w.pieces[0].binding};
    if (below != nullptr) {
        const SecondFormat second = second_format(w, *below);
        d.with<wgsl::two_formats>({.kFirstRows = second.first_rows, .kSecondAt = second.second_at});
        weights.at = second.weights;
    }
    d.read(B::w, weights).read(B::x, x).write(B::y, binds_offset ? y.from(y_offset) : y);
    fill_prologue(d, prologue);
    fill_epilogue(d, epilogue);
    if (limbs) {
        d.fill<wgsl::store_limbs>("store");
    } else {
        d.fill<wgsl::store_f32>("store");
    }
    if (has_everything() && experts) {
        wgsl::expert_rows::Constants e{
            .kExperts = experts->used, .kExpertRows = w.rows / experts->count, .kYStride = y.stride};
        e.kTokens = tokens;
        e.kXPerSlot = experts->x_per_slot;
        d.fill<wgsl::expert_rows>("rows", e).read(wgsl::expert_rows::Binding::ids, experts->ids);
    } else {
        d.fill<wgsl::one_row>("rows");
    }
    return d.workgroups(ceil_div(out, outputs), tokens, experts ? experts->used : 1)
        .labelled(format("{} {}", w.cols, out));
}

}  // namespace lapidary::kernels
