#include <algorithm>

#include "kernels/check/suites.h"

namespace lapidary::kernels::check::argmax_cases {
namespace {

struct Shape {
    uint32_t n;
    uint32_t parts;
    uint32_t levels;  // different logits there are: few of them make ties
};
constexpr uint32_t kPosition = 3;

// step, logits, best, ids, history
std::vector<Array> arrays_of(const Shape& s, Random& random) {
    std::vector<float> logits(s.n);
    for (float& logit : logits) logit = float(random.below(s.levels)) / float(s.levels) - 0.5f;
    Array now = step(kPosition, 1);
    now.expected = {kPosition + 1, 1, 0, 0};
    Array best = written(random, size_t(s.parts) * 2, Element::u32);
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
    const auto stage = [&](uint32_t groups) {
        return Dispatch{kArgmax, {{"kN", double(s.n)}, {"kParts", double(s.parts)}}, {groups, 1, 1}};
    };
    return {.shape = format("{} logits in {} parts, {} levels", s.n, s.parts, s.levels),
            .dispatches = {stage(s.parts), stage(1)},
            .arrays = [s](Random& random) { return arrays_of(s, random); }};
}

}  // namespace

std::vector<Case> all() {
    std::vector<Case> out = {argmax({.n = 40'001, .parts = 64, .levels = 1u << 24}),
                             argmax({.n = 40'001, .parts = 64, .levels = 3}),
                             argmax({.n = 17, .parts = 5, .levels = 1000}), argmax({.n = 17, .parts = 2, .levels = 1})};
    out[0].quick = true;
    out[1].quick = true;
    return out;
}

}  // namespace lapidary::kernels::check::argmax_cases
