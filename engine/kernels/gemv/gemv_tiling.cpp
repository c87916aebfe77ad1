#include "kernels/gemv/gemv_tiling.h"

#include <algorithm>

namespace lapidary::kernels {
namespace {
constexpr uint64_t groups_of(uint64_t elements) {
    return (elements + 63) / 64;
}
}  // namespace

GemvTiling gemv_tiling(const gpu::Info& info, uint64_t rows, uint64_t cols, bool gate_and_up, PrologueCost prologue) {
    // An H200 wants about 100,000 threads before its memory is busy; more threads a row than quant groups would idle,
    // and fewer than four groups a thread make adding up the threads dearer than fewer rows do. Of a tall matrix whose activations are there, every
    // thread takes four rows, and half as many threads do (docs/performance.md has the tables). To software every workgroup
    // that prepares the same activations once more is a loss.
    constexpr uint64_t kTall = 8192;
    constexpr uint64_t kVeryTall = 32'768;
    constexpr uint32_t kMaxThreadsPerRow = 128;
    const bool tall = prologue == PrologueCost::none && rows >= kTall && !info.software;
    const uint64_t enough_threads = info.software ? 0 : tall ? 43'000 : 98'000;
    const uint64_t groups = groups_of(cols);
    // At most a quarter of the threads may have nothing to do in the last round.
    const auto busy = [&](uint64_t per_row) { return 4 * groups >= 3 * per_row * ((groups + per_row - 1) / per_row); };
    const auto up_to_groups = [&](uint32_t per_row) {
        while (per_row > groups) per_row /= 2;
        return per_row;
    };
    const uint32_t fewest = gate_and_up ? 2 : 1;
    // What 32 threads read of a row at a time is a kilobyte, and memory likes that better than a quarter of it in four rows.
    const bool long_reads = tall && busy(32);
    if (tall && gate_and_up) return {.threads = 128, .threads_per_row = long_reads ? 32 : up_to_groups(8), .rows = 4};
    if (long_reads && rows < kVeryTall) return {.threads = 128, .threads_per_row = 32, .rows = 2};
    // Of a short and wide one two rows share what is loaded of its activations.
    if (prologue == PrologueCost::none && !tall && !gate_and_up && busy(kMaxThreadsPerRow) && !info.software) {
        const bool whole = groups > kMaxThreadsPerRow && groups <= 256 && groups % 32 == 0;  // a group a thread
        const uint32_t per_row = whole ? uint32_t(groups) : kMaxThreadsPerRow;
        return {.threads = per_row, .threads_per_row = per_row, .rows = 2};
    }
    // Before it multiplies a thread norms eight elements.
    const bool wide = prologue == PrologueCost::cheap && cols > 8ull * 128 && !info.software;
    GemvTiling out{
        .threads = wide ? 256u : 128u, .threads_per_row = up_to_groups(tall ? 16 : 8), .rows = tall ? 4u : 2u};
    if (prologue == PrologueCost::dear || (gate_and_up && prologue == PrologueCost::none)) {
        // Three workgroups of 256 threads are on each of an H200's 132 compute units at a time: of a few more, the last would
        // begin when all others are done.
        constexpr uint64_t kAtOnce = 3ull * 132 * 256;
        uint32_t per_row = out.threads_per_row;
        if (!gate_and_up && !info.software && groups % 32 == 0) per_row = 32;
        if (!gate_and_up && 2 * per_row <= std::min<uint64_t>(groups, 16)) per_row *= 2;
        const bool too_many = rows / fewest * per_row > kAtOnce && !info.software;
        return {.threads = 256, .threads_per_row = per_row, .rows = too_many ? 2 * fewest : fewest};
    }
    // Of a matrix with many rows, threads a row that divide the groups are worth more than more threads.
    constexpr uint64_t kManyThreads = 64'000;
    const auto divides = [&](uint64_t per_row) { return groups % per_row == 0; };
    while (rows / out.rows * out.threads_per_row < enough_threads) {
        if (rows * out.threads_per_row >= kManyThreads && out.rows == 1 && divides(out.threads_per_row) &&
            !divides(2ull * out.threads_per_row))
            break;
        const bool can_widen = out.threads_per_row < kMaxThreadsPerRow &&
                               (2 * out.threads_per_row <= groups || busy(2 * out.threads_per_row));
        if (out.rows > fewest && (groups / out.threads_per_row <= 4 || !can_widen)) {
            out.rows /= 2;
        } else if (can_widen) {
            out.threads_per_row *= 2;
        } else {
            break;
        }
    }
    return out;
}

Activations activations_for(Format format, const Target& target) {
    return holds_whole_numbers(format) ? target.variant.activations : Activations::floats;
}

uint64_t limb_bytes(uint64_t elements) {
    return groups_of(elements) * 14 * 16;
}

bool fits_workgroup(const gpu::Info& info, Activations form, uint64_t elements) {
    // What the sums and the outputs of a workgroup take.
    constexpr uint64_t kOthers = 5 * 1024;
    const uint64_t unit = form == Activations::limbs ? 15 * 16 : 256;
    return groups_of(elements) * unit + kOthers <= info.max_workgroup_bytes;
}

}  // namespace lapidary::kernels
