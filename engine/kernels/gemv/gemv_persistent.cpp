#include "kernels/gemv/gemv_persistent.h"

#include "base/checked.h"
#include "base/format.h"
#include "kernels/wgsl_modules.h"

namespace lapidary::kernels {

std::optional<PersistentTiling> persistent_tiling(const gpu::Info& info, uint32_t compute_units,
                                                  const PersistentShape& shape) {
    constexpr uint64_t kWorthIt = 180'000;  // bytes of a compute unit's; with fewer it is over before it pays
    constexpr uint32_t kThreads = 256;
    constexpr uint64_t kOthers = 5 * 1024;  // sums over threads
    constexpr uint32_t kMinUnits = 8;       // of a GPU that such models are for
    if (compute_units < kMinUnits || shape.bytes + shape.below_bytes < compute_units * kWorthIt) return std::nullopt;
    PersistentTiling out{.rows = shape.gate_and_up ? 4u : 2u};
    // At most a tenth of the threads may be in no row group.
    const uint64_t quant_groups = ceil_div(shape.cols, 64);
    uint64_t row_groups = 0;
    for (; out.splits <= shape.max_splits; ++out.splits) {
        const uint64_t span = quant_groups / out.splits;
        row_groups = kThreads / std::max<uint64_t>(span, 1);
        if (quant_groups % out.splits == 0 && span % 4 == 0 && 10 * row_groups * span >= 9ull * kThreads) break;
    }
    if (out.splits > shape.max_splits) return std::nullopt;
    const uint64_t most_steps = (info.max_workgroup_bytes - kOthers) / (kThreads * sizeof(float));
    const auto steps_of = [&](uint64_t rows, uint64_t groups) {
        const uint32_t steps = ceil_div(ceil_div(rows, out.rows), row_groups * groups);
        return shape.gate_and_up ? 2 * steps : steps;
    };
    // Two workgroups are on a compute unit at a time; or twice as many, one after the other, and so on: each time it is full.
    for (uint64_t waves = 1;; ++waves) {
        out.groups = uint32_t(waves * 2 * compute_units / out.splits);
        out.first_groups = out.groups;
        if (shape.below_rows > 0) {
            const uint64_t first = out.groups * shape.bytes / (shape.bytes + shape.below_bytes);
            out.first_groups = std::clamp<uint32_t>(uint32_t(first), 1, out.groups - 1);
            out.second_steps = steps_of(shape.below_rows, out.groups - out.first_groups);
        }
        out.first_steps = steps_of(shape.rows, out.first_groups);
        if (out.steps() <= most_steps) break;
    }
    if (out.steps() < 2) return std::nullopt;
    return out;
}

Result<Dispatch> GemvPersistent::dispatch(const Target&) const {
    using B = wgsl::gemv_persistent::Binding;
    Call<wgsl::gemv_persistent> d({.kCols = w.cols,
                                   .kOut = out,
                                   .kFinish = gelu_gate,
                                   .kRowsPerGroup = tiling.rows,
                                   .kSplits = tiling.splits,
                                   .kGroups = tiling.groups,
                                   .kSteps = tiling.steps()},
                                  {w.format, below != nullptr ? std::optional(below->format) : std::nullopt});
    gpu::Tensor weights{.at = w.pieces[0].binding};
    if (below != nullptr) {
        const SecondFormat second = second_format(w, *below);
        d.with<wgsl::persistent_two_formats>({.kFirstRows = second.first_rows,
                                              .kSecondAt = second.second_at,
                                              .kFirstGroups = tiling.first_groups,
                                              .kFirstSteps = tiling.first_steps,
                                              .kSecondSteps = tiling.second_steps});
        weights.at = second.weights;
    }
    return d.read(B::w, weights)
        .read(B::x, x)
        .write(B::y, y)
        .workgroups(uint64_t{tiling.groups} * tiling.splits)
        .labelled(format("{} {}", w.cols, out));
}

}  // namespace lapidary::kernels
