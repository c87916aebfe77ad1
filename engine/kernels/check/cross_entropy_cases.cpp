#include <bit>

#include "kernels/check/suites.h"
#include "kernels/train/cross_entropy.h"

namespace lapidary::kernels::check::cross_entropy_cases {
namespace {

constexpr uint32_t kTokens = 5;
constexpr uint32_t kTile = 300;    // tokens of the vocabulary in each tile but the last
constexpr uint32_t kLast = 41;     // and in that
constexpr uint32_t kStride = 304;  // of a row of logits
constexpr double kCap = 30;

struct Inputs {
    std::vector<float> logits[2];       // of two tiles
    std::vector<uint32_t> targets;      // token, weight
    std::vector<double> largest, sums;  // of the first tile, then of both
    std::vector<double> wanted;         // the targets' logits
};

Inputs inputs_of(Random& random) {
    Inputs in;
    for (auto& tile : in.logits) tile = random.floats(size_t{kTokens} * kStride, -9, 9);
    for (uint32_t t = 0; t < kTokens; ++t) {
        // One target at the end of the first tile, one at the beginning of the second, others anywhere.
        const uint32_t target = t == 0 ? kTile - 1 : t == 1 ? kTile : random.below(kTile + kLast);
        in.targets.insert(in.targets.end(), {target, std::bit_cast<uint32_t>(0.25f * float(t))});
        const size_t row = size_t(t) * kStride;
        in.wanted.push_back(double(target < kTile ? in.logits[0][row + target] : in.logits[1][row + target - kTile]));
    }
    for (const uint32_t tiles : {1u, 2u}) {
        for (uint32_t t = 0; t < kTokens; ++t) {
            double largest = -1e9;
            double sum = 0;
            for (uint32_t tile = 0; tile < tiles; ++tile) {
                for (uint32_t i = 0; i < (tile == 0 ? kTile : kLast); ++i) {
                    const auto logit = double(in.logits[tile][size_t(t) * kStride + i]);
                    largest = std::max(largest, logit);
                    sum += std::exp(logit);
                }
            }
            in.largest.push_back(largest);
            in.sums.push_back(sum / std::exp(largest));
        }
    }
    return in;
}

VocabularyTile tile_of(uint32_t tile) {
    return {.first = tile * kTile, .count = tile == 0 ? kTile : kLast};
}

std::vector<float> found(const Inputs& in, uint32_t tiles) {
    std::vector<float> out;
    for (uint32_t t = 0; t < kTokens; ++t) {
        const size_t at = (tiles - 1) * kTokens + t;
        const bool known = tiles > 1 || in.targets[2 * t] < kTile;
        out.insert(out.end(), {float(in.largest[at]), float(in.sums[at]), known ? float(in.wanted[t]) : 0.0f, 0.0f});
    }
    return out;
}

// step, targets, logits, sums
std::vector<Array> arrays_of(uint32_t tile, Random& random) {
    const Inputs in = inputs_of(random);
    Array sums = tile == 0 ? written(random, size_t{4} * kTokens) : in_place(found(in, 1));
    const std::vector<float> after = found(in, tile + 1);
    for (size_t i = 0; i < after.size(); ++i) sums.expected[i] = double(after[i]);
    return {step(0, kTokens), given(in.targets), given(in.logits[tile]), std::move(sums)};
}

// step, targets, sums, logits
std::vector<Array> back_arrays_of(uint32_t tile, bool capped, Random& random) {
    const Inputs in = inputs_of(random);
    const uint32_t count = tile == 0 ? kTile : kLast;
    Array logits = in_place(in.logits[tile]);
    for (uint32_t t = 0; t < kTokens; ++t) {
        for (uint32_t i = 0; i < count; ++i) {
            const size_t at = size_t(t) * kStride + i;
            const auto logit = double(in.logits[tile][at]);
            double d = std::exp(logit - in.largest[kTokens + t]) / in.sums[kTokens + t];
            if (in.targets[2 * t] == tile * kTile + i) d -= 1;
            d *= 0.25 * t;
            logits.expected[at] = d * (capped ? 1 - logit * logit / (kCap * kCap) : 1);
        }
    }
    return {step(0, kTokens), given(in.targets), given(found(in, 2)), std::move(logits)};
}

}  // namespace

std::vector<Case> cross_entropy() {
    std::vector<Case> out;
    for (const uint32_t tile : {0u, 1u}) {
        out.push_back({.shape = format("{} rows, tile {} of 2", kTokens, tile + 1),
                       .quick = true,
                       .launches = {launch([tile](Tensors t) {
                           return CrossEntropy{.tile = tile_of(tile),
                                               .targets = t[1],
                                               .logits = with_stride(t[2], kStride),
                                               .sums = t[3],
                                               .rows = kTokens + 1};
                       })},
                       .arrays = [tile](Random& random) { return arrays_of(tile, random); }});
    }
    return out;
}

std::vector<Case> cross_entropy_backward() {
    std::vector<Case> out;
    for (const uint32_t tile : {0u, 1u}) {
        const bool capped = tile == 0;
        out.push_back({.shape = format("{} rows, tile {} of 2{}", kTokens, tile + 1, capped ? ", capped" : ""),
                       .quick = true,
                       .launches = {{.op =
                                         [=](const Target& target, Tensors t) {
                                             return CrossEntropyBackward{.tile = tile_of(tile),
                                                                         .targets = t[1],
                                                                         .sums = t[2],
                                                                         .logits = with_stride(t[3], kStride),
                                                                         .rows = kTokens + 1,
                                                                         .cap = capped ? float(kCap) : 0}
                                                 .dispatch(target);
                                         },
                                     .grid = Grid{ceil_div(kStride, 64), kTokens + 1}}},
                       .arrays = [=](Random& random) { return back_arrays_of(tile, capped, random); }});
    }
    return out;
}

}  // namespace lapidary::kernels::check::cross_entropy_cases
