#include <algorithm>

#include "kernels/check/caches.h"
#include "kernels/check/suites.h"

namespace lapidary::kernels::check::attention_merge_cases {
namespace {

struct Shape {
    uint32_t heads;
    uint32_t dim;
    uint32_t position;
    uint32_t most;  // parts there is room for
    uint32_t window = 0;
};

// step, parts, stats, y: [heads, dim]
std::vector<Array> arrays_of(const Shape& s, Random& random) {
    const uint32_t splits = attention_splits(s.position + 1, s.window, s.most);
    const Parts parts = random_parts(random, s.heads, s.dim, s.most, splits);
    Array y = written(random, parts.together.size());
    std::ranges::copy(parts.together, y.expected.begin());
    return {step(s.position, 1), given(parts.values), given(parts.stats), std::move(y)};
}

Case attention_merge(const Shape& s) {
    return {.shape = format("{} heads of {}, {} parts at most, at {}, window {}", s.heads, s.dim, s.most, s.position,
                            s.window),
            .limit = 1e-6,
            .dispatches = {{kAttentionMerge,
                            {{"kDim", double(s.dim)}, {"kWindow", double(s.window)}, {"kMaxSplits", double(s.most)}},
                            {s.heads, 1, 1}}},
            .arrays = [s](Random& random) { return arrays_of(s, random); }};
}

}  // namespace

std::vector<Case> all() {
    std::vector<Case> out = {attention_merge({.heads = 3, .dim = 256, .position = 300, .most = 8}),
                             attention_merge({.heads = 3, .dim = 256, .position = 63, .most = 8}),
                             attention_merge({.heads = 2, .dim = 40, .position = 10'000, .most = 6, .window = 129})};
    out.front().quick = true;
    return out;
}

}  // namespace lapidary::kernels::check::attention_merge_cases
