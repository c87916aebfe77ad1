#include "infer/gpu_division.h"

#include <algorithm>

#include "base/checked.h"

namespace lapidary::infer {
namespace {
constexpr uint64_t units_of(uint64_t elements) {
    return (elements + 63) / 64;
}
}  // namespace

MatvecDivision divide_matvec(const gpu::Info& info, uint64_t rows, uint64_t cols, bool pairs, Preparing preparing) {
    // An H200 wants about 100,000 threads before its memory is busy; more lanes than units would idle, and fewer than four
    // units a lane make adding up the lanes dearer than fewer rows do. Of a tall matrix whose activations are there, every
    // thread takes four rows, and half as many threads do (docs/performance.md has the tables). To software every workgroup
    // that prepares the same activations once more is a loss.
    constexpr uint64_t kTall = 8192;
    constexpr uint64_t kVeryTall = 32'768;
    constexpr uint32_t kMostLanes = 128;
    const bool tall = preparing == Preparing::none && rows >= kTall && !info.software;
    const uint64_t enough_threads = info.software ? 0 : tall ? 43'000 : 98'000;
    const uint64_t units = units_of(cols);
    // At most a quarter of the lanes may have nothing to do in the last round.
    const auto busy = [&](uint64_t lanes) { return 4 * units >= 3 * lanes * ((units + lanes - 1) / lanes); };
    const auto up_to_units = [&](uint32_t lanes) {
        while (lanes > units) lanes /= 2;
        return lanes;
    };
    const uint32_t fewest = pairs ? 2 : 1;
    // What 32 lanes read of a row at a time is a kilobyte, and memory likes that better than a quarter of it in four rows.
    const bool long_reads = tall && busy(32);
    if (tall && pairs) return {.threads = 128, .lanes = long_reads ? 32 : up_to_units(8), .rows = 4};
    if (long_reads && rows < kVeryTall) return {.threads = 128, .lanes = 32, .rows = 2};
    // Of a short and wide one two rows share what is loaded of its activations.
    if (preparing == Preparing::none && !tall && !pairs && busy(kMostLanes) && !info.software) {
        const bool whole = units > kMostLanes && units <= 256 && units % 32 == 0;  // a unit a lane
        const uint32_t lanes = whole ? uint32_t(units) : kMostLanes;
        return {.threads = lanes, .lanes = lanes, .rows = 2};
    }
    // At a seam a thread norms eight elements.
    const bool wide = preparing == Preparing::cheap && cols > 8ull * 128 && !info.software;
    MatvecDivision out{.threads = wide ? 256u : 128u, .lanes = up_to_units(tall ? 16 : 8), .rows = tall ? 4u : 2u};
    if (preparing == Preparing::dear || (pairs && preparing == Preparing::none)) {
        // Three workgroups of 256 threads are on each of an H200's 132 processors at a time: of a few more, the last would
        // begin when all others are done.
        constexpr uint64_t kAtOnce = 3ull * 132 * 256;
        uint32_t lanes = out.lanes;
        if (!pairs && !info.software && units % 32 == 0) lanes = 32;
        if (!pairs && 2 * lanes <= std::min<uint64_t>(units, 16)) lanes *= 2;
        const bool too_many = rows / fewest * lanes > kAtOnce && !info.software;
        return {.threads = 256, .lanes = lanes, .rows = too_many ? 2 * fewest : fewest};
    }
    // Of a matrix with many rows, lanes that divide the units are worth more than more threads.
    constexpr uint64_t kManyThreads = 64'000;
    const auto divides = [&](uint64_t lanes) { return units % lanes == 0; };
    while (rows / out.rows * out.lanes < enough_threads) {
        if (rows * out.lanes >= kManyThreads && out.rows == 1 && divides(out.lanes) && !divides(2ull * out.lanes))
            break;
        const bool can_widen = out.lanes < kMostLanes && (2 * out.lanes <= units || busy(2 * out.lanes));
        if (out.rows > fewest && (units / out.lanes <= 4 || !can_widen)) {
            out.rows /= 2;
        } else if (can_widen) {
            out.lanes *= 2;
        } else {
            break;
        }
    }
    return out;
}

std::optional<WalkDivision> divide_walk(const gpu::Info& info, uint32_t processors, const Walked& product) {
    constexpr uint64_t kWorthWalking = 180'000;  // bytes of a processor's; with fewer it is over before it pays
    constexpr uint32_t kThreads = 256;
    constexpr uint64_t kOthers = 5 * 1024;  // sums over threads
    constexpr uint32_t kFewest = 8;         // processors, of a GPU that such models are for
    if (processors < kFewest || product.bytes + product.below_bytes < processors * kWorthWalking) return std::nullopt;
    WalkDivision out{.rows = product.pairs ? 4u : 2u};
    // At most a tenth of the threads may have no seat.
    const uint64_t units = units_of(product.cols);
    uint64_t seats = 0;
    for (; out.parts <= product.most_parts; ++out.parts) {
        const uint64_t span = units / out.parts;
        seats = kThreads / std::max<uint64_t>(span, 1);
        if (units % out.parts == 0 && span % 4 == 0 && 10 * seats * span >= 9ull * kThreads) break;
    }
    if (out.parts > product.most_parts) return std::nullopt;
    const uint64_t most_steps = (info.max_workgroup_bytes - kOthers) / (kThreads * sizeof(float));
    const auto steps_of = [&](uint64_t rows, uint64_t groups) {
        const uint32_t steps = ceil_div(ceil_div(rows, out.rows), seats * groups);
        return product.pairs ? 2 * steps : steps;
    };
    // Two workgroups are on a processor at a time; or twice as many, one after the other, and so on: each time it is full.
    for (uint64_t waves = 1;; ++waves) {
        out.groups = uint32_t(waves * 2 * processors / out.parts);
        out.first_groups = out.groups;
        if (product.below_rows > 0) {
            const uint64_t share = out.groups * product.bytes / (product.bytes + product.below_bytes);
            out.first_groups = std::clamp<uint32_t>(uint32_t(share), 1, out.groups - 1);
            out.second_steps = steps_of(product.below_rows, out.groups - out.first_groups);
        }
        out.first_steps = steps_of(product.rows, out.first_groups);
        if (out.steps() <= most_steps) break;
    }
    if (out.steps() < 2) return std::nullopt;
    return out;
}

uint32_t attention_rows(const gpu::Info& info, uint64_t dim) {
    constexpr uint64_t kTile = 64;
    constexpr uint64_t kOthers = 5632;  // sums over threads and of rows
    constexpr uint32_t kMost = 8;       // with 16 a prompt behind 8,192 tokens took a third longer on an H200
    const uint64_t bytes = kMost * (dim + 2 * kTile) * sizeof(float) + kOthers;
    return bytes <= info.max_workgroup_bytes ? kMost : kMost / 2;
}

uint32_t choice_parts(uint64_t vocabulary) {
    constexpr uint64_t kWorthAWorkgroup = 2048;
    return uint32_t(std::clamp<uint64_t>(vocabulary / kWorthAWorkgroup, 2, kMostChoiceParts));
}

uint64_t plane_bytes(uint64_t elements) {
    return units_of(elements) * 14 * 16;
}

bool fits_workgroup(const gpu::Info& info, kernels::Activations form, uint64_t elements) {
    // What the sums and the outputs of a workgroup take.
    constexpr uint64_t kOthers = 5 * 1024;
    const uint64_t unit = form == kernels::Activations::planes ? 15 * 16 : 256;
    return units_of(elements) * unit + kOthers <= info.max_workgroup_bytes;
}

}  // namespace lapidary::infer
