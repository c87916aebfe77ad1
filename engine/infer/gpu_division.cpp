#include "infer/gpu_division.h"

#include <algorithm>

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
    if (tall && pairs) {
        // Better still a whole row, and the next rows asked for while these are computed; but for few of them, because
        // what all workgroups read at a time should lie together.
        constexpr uint64_t kSubgroup = 32;
        const uint64_t whole = (units + kSubgroup - 1) / kSubgroup * kSubgroup;
        if (long_reads && whole > kSubgroup && whole <= 256 && busy(whole)) {
            return {.threads = uint32_t(whole), .lanes = uint32_t(whole), .rows = 4, .sets = 2};
        }
        return {.threads = 128, .lanes = long_reads ? 32 : up_to_units(8), .rows = 4};
    }
    if (long_reads && rows < kVeryTall) return {.threads = 128, .lanes = 32, .rows = 2};
    // Of a short and wide one two rows share what is loaded of its activations.
    if (preparing == Preparing::none && !tall && !pairs && busy(kMostLanes) && !info.software) {
        return {.threads = kMostLanes, .lanes = kMostLanes, .rows = 2};
    }
    // At a seam a thread norms eight elements.
    const bool wide = preparing == Preparing::cheap && cols > 8ull * 128 && !info.software;
    MatvecDivision out{.threads = wide ? 256u : 128u, .lanes = up_to_units(tall ? 16 : 8), .rows = tall ? 4u : 2u};
    if (preparing == Preparing::dear || (pairs && preparing == Preparing::none)) {
        // Three workgroups of 256 threads are on each of an H200's 132 processors at a time: of a few more, the last would
        // begin when all others are done.
        constexpr uint64_t kAtOnce = 3ull * 132 * 256;
        const uint32_t lanes = pairs || 2 * out.lanes > std::min<uint64_t>(units, 16) ? out.lanes : 2 * out.lanes;
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
