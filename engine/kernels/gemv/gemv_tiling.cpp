#include "kernels/gemv/gemv_tiling.h"

#include <algorithm>
#include <iterator>

namespace lapidary::kernels {
namespace {

constexpr uint32_t kMaxThreadsPerRow = 128;
constexpr uint64_t kVeryTall = 32'768;  // rows

constexpr uint64_t groups_of(uint64_t elements) {
    return (elements + 63) / 64;
}

// A product, as the table below looks at it.
struct Product {
    uint64_t rows, cols, groups;
    bool gate_and_up, software;
    PrologueCost prologue;
    bool tall;  // and its activations are there

    // At most a quarter of the threads may have nothing to do in the last round.
    [[nodiscard]] bool busy(uint64_t per_row) const {
        return 4 * groups >= 3 * per_row * ((groups + per_row - 1) / per_row);
    }
    [[nodiscard]] bool divides(uint64_t per_row) const { return groups % per_row == 0; }
    [[nodiscard]] uint32_t up_to_groups(uint32_t per_row) const {
        while (per_row > groups) per_row /= 2;
        return per_row;
    }
    // What 32 threads read of a row at a time is a kilobyte, and memory likes that better than a quarter of it in four rows.
    [[nodiscard]] bool long_reads() const { return tall && busy(32); }
    [[nodiscard]] uint32_t fewest_rows() const { return gate_and_up ? 2 : 1; }
};

// Two rows share what is loaded of the activations, by as many threads as there are groups where that comes out even.
GemvTiling all_of_a_row(const Product& p) {
    const bool whole = p.groups > kMaxThreadsPerRow && p.groups <= 256 && p.divides(32);
    const uint32_t per_row = whole ? uint32_t(p.groups) : kMaxThreadsPerRow;
    return {.threads = per_row, .threads_per_row = per_row, .rows = 2};
}

// Three workgroups of 256 threads are on each of an H200's 132 compute units at a time: of a few more, the last would begin
// when all others are done.
GemvTiling all_at_once(const Product& p) {
    constexpr uint64_t kAtOnce = 3ull * 132 * 256;
    uint32_t per_row = p.up_to_groups(p.tall ? 16 : 8);
    if (!p.gate_and_up && !p.software && p.divides(32)) per_row = 32;
    if (!p.gate_and_up && 2 * per_row <= std::min<uint64_t>(p.groups, 16)) per_row *= 2;
    const bool too_many = p.rows / p.fewest_rows() * per_row > kAtOnce && !p.software;
    return {.threads = 256, .threads_per_row = per_row, .rows = too_many ? 2 * p.fewest_rows() : p.fewest_rows()};
}

// More threads, until memory is busy. More of them for a row than quant groups would idle, and fewer than four groups a thread
// make adding up the threads dearer than fewer rows do.
GemvTiling enough_threads(const Product& p) {
    constexpr uint64_t kManyThreads =
        64'000;  // from here on those that divide the groups are worth more than more of them
    const uint64_t enough = p.software ? 0 : p.tall ? 43'000 : 98'000;
    // Before it multiplies a thread norms eight elements.
    const bool wide = p.prologue == PrologueCost::cheap && p.cols > 8ull * 128 && !p.software;
    GemvTiling out{
        .threads = wide ? 256u : 128u, .threads_per_row = p.up_to_groups(p.tall ? 16 : 8), .rows = p.tall ? 4u : 2u};
    while (p.rows / out.rows * out.threads_per_row < enough) {
        const uint32_t twice = 2 * out.threads_per_row;
        const bool many = p.rows * out.threads_per_row >= kManyThreads && out.rows == 1;
        if (many && p.divides(out.threads_per_row) && !p.divides(twice)) break;
        const bool can_widen = out.threads_per_row < kMaxThreadsPerRow && (twice <= p.groups || p.busy(twice));
        if (out.rows > p.fewest_rows() && (p.groups / out.threads_per_row <= 4 || !can_widen)) {
            out.rows /= 2;
        } else if (can_widen) {
            out.threads_per_row = twice;
        } else {
            break;
        }
    }
    return out;
}

// The first row that applies counts. Measured on an H200 (docs/notes/decode-experiments.md), which wants about 100,000 threads
// before its memory is busy, and half as many of a tall matrix whose activations are there. To software every workgroup that
// prepares the same activations once more is a loss.
struct Rule {
    bool (*applies)(const Product& p);
    GemvTiling (*tiling)(const Product& p);
};
constexpr Rule kTable[] = {
    // Gate and up of a tall matrix: every thread takes four rows.
    {[](const Product& p) { return p.tall && p.gate_and_up; },
     [](const Product& p) {
         return GemvTiling{.threads = 128, .threads_per_row = p.long_reads() ? 32 : p.up_to_groups(8), .rows = 4};
     }},
    // Tall, such as the down projection's: a kilobyte of each of two rows at a time.
    {[](const Product& p) { return p.long_reads() && p.rows < kVeryTall; },
     [](const Product&) { return GemvTiling{.threads = 128, .threads_per_row = 32, .rows = 2}; }},
    // Short and wide.
    {[](const Product& p) {
         return p.prologue == PrologueCost::none && !p.tall && !p.gate_and_up && p.busy(kMaxThreadsPerRow) &&
                !p.software;
     },
     all_of_a_row},
    // Workgroups that have much to do before they multiply; gate and up that are not tall.
    {[](const Product& p) {
         return p.prologue == PrologueCost::dear || (p.gate_and_up && p.prologue == PrologueCost::none);
     },
     all_at_once},
    // All others: the vocabulary, and what is small.
    {[](const Product&) { return true; }, enough_threads},
};

}  // namespace

GemvTiling gemv_tiling(const gpu::Info& info, uint64_t rows, uint64_t cols, bool gate_and_up, PrologueCost prologue) {
    constexpr uint64_t kTall = 8192;
    const Product p{.rows = rows,
                    .cols = cols,
                    .groups = groups_of(cols),
                    .gate_and_up = gate_and_up,
                    .software = info.software,
                    .prologue = prologue,
                    .tall = prologue == PrologueCost::none && rows >= kTall && !info.software};
    return std::ranges::find_if(kTable, [&](const Rule& rule) { return rule.applies(p); })->tiling(p);
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
