#include <algorithm>

#include "kernels/attention/merge_splits.h"
#include "kernels/check/caches.h"
#include "kernels/check/limbs.h"
#include "kernels/check/suites.h"

namespace lapidary::kernels::check::merge_splits_cases {
namespace {

struct Shape {
    uint32_t heads;
    uint32_t dim;
    uint32_t position;
    uint32_t max_splits;  // there is room for
    uint32_t window = 0;
    bool limbs = false;
};

// step, splits, stats, y: [heads, dim]
std::vector<Array> arrays_of(const Shape& s, Random& random) {
    const uint32_t count = attention_splits(s.position + 1, s.window, s.max_splits);
    const Splits splits = random_splits(random, s.heads, s.dim, s.max_splits, count);
    Array y = s.limbs ? limbs_written(random, splits.merged) : written(random, splits.merged.size());
    if (!s.limbs) std::ranges::copy(splits.merged, y.expected.begin());
    return {step(s.position, 1), given(splits.values), given(splits.stats), std::move(y)};
}

Case case_of(const Shape& s) {
    return {.shape = format("{} heads of {}, {} parts at most, at {}, window {}{}", s.heads, s.dim, s.max_splits,
                            s.position, s.window, s.limbs ? ", to limbs" : ""),
            .limit = 1e-6,
            .launches = {launch([s](Tensors t) {
                return MergeSplits{.splits = t[1],
                                   .stats = t[2],
                                   .y = t[3],
                                   .cols = s.heads * s.dim,
                                   .head_dim = s.dim,
                                   .window = s.window,
                                   .max_splits = s.max_splits};
            })},
            .arrays = [s](Random& random) { return arrays_of(s, random); }};
}

}  // namespace

std::vector<Case> all() {
    std::vector<Case> out = {case_of({.heads = 3, .dim = 256, .position = 300, .max_splits = 8}),
                             case_of({.heads = 3, .dim = 256, .position = 63, .max_splits = 8}),
                             case_of({.heads = 5, .dim = 256, .position = 300, .max_splits = 8, .limbs = true}),
                             case_of({.heads = 2, .dim = 48, .position = 10'000, .max_splits = 6, .window = 129})};
    out.front().quick = true;
    return out;
}

}  // namespace lapidary::kernels::check::merge_splits_cases
