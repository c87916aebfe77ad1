#include <algorithm>

#include "kernels/check/suites.h"
#include "kernels/sample/sampling_ops.h"

namespace lapidary::kernels::check::argmax_cases {
namespace {

struct Shape {
    uint32_t n;
    uint32_t slices;
    uint32_t levels;  // different logits there are: few of them make ties
};
constexpr uint32_t kPosition = 3;

// step, logits, best, ids, history
std::vector<Array> arrays_of(const Shape& s, Random& random) {
    std::vector<float> logits(s.n);
    for (float& logit : logits) logit = float(random.below(s.levels)) / float(s.levels) - 0.5f;
    Array now = step(kPosition, 1);
    now.expected = {kPosition + 1, 1, 0, 0};
    Array best = written(random, size_t(s.slices) * 2, Element::u32);
    best.expected.clear();  // what the first stage leaves for the second is their own business
    Array ids = written(random, 1, Element::u32);
    Array history = written(random, 8, Element::u32);
    // The first of the largest.
    const auto token = double(std::ranges::max_element(logits) - logits.begin());
    ids.expected[0] = token;
    history.expected[kPosition + 1] = token;
    return {std::move(now), given(logits), std::move(best), std::move(ids), std::move(history)};
}

Case argmax(const Shape& s) {
    const auto stage = [s](bool of_slices) {
        return launch([=](Tensors t) {
            return Argmax{.step = t[0],
                          .logits = t[1],
                          .best = t[2],
                          .ids = t[3],
                          .history = t[4],
                          .vocabulary = s.n,
                          .of_slices = of_slices,
                          .slices = s.slices};
        });
    };
    return {.shape = format("{} logits in {} parts, {} levels", s.n, s.slices, s.levels),
            .launches = {stage(true), stage(false)},
            .arrays = [s](Random& random) { return arrays_of(s, random); }};
}

}  // namespace

std::vector<Case> all() {
    std::vector<Case> out = {
        argmax({.n = 40'001, .slices = 64, .levels = 1u << 24}), argmax({.n = 40'001, .slices = 64, .levels = 3}),
        argmax({.n = 17, .slices = 5, .levels = 1000}), argmax({.n = 17, .slices = 2, .levels = 1})};
    out[0].quick = true;
    out[1].quick = true;
    return out;
}

}  // namespace lapidary::kernels::check::argmax_cases
