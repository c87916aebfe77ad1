#include <algorithm>

#include "kernels/check/caches.h"
#include "kernels/check/planes.h"
#include "kernels/check/suites.h"

namespace lapidary::kernels::check::attention_merge_cases {
namespace {

struct Shape {
    uint32_t heads;
    uint32_t dim;
    uint32_t position;
    uint32_t most;  // parts there is room for
    uint32_t window = 0;
    bool planes = false;
};

// step, parts, stats, y: [heads, dim]
std::vector<Array> arrays_of(const Shape& s, Random& random) {
    const uint32_t splits = attention_splits(s.position + 1, s.window, s.most);
    const Parts parts = random_parts(random, s.heads, s.dim, s.most, splits);
    Array y = s.planes ? planes_written(random, parts.together) : written(random, parts.together.size());
    if (!s.planes) std::ranges::copy(parts.together, y.expected.begin());
    return {step(s.position, 1), given(parts.values), given(parts.stats), std::move(y)};
}

Case attention_merge(const Shape& s) {
    const uint32_t cols = s.heads * s.dim;
    return {.shape = format("{} heads of {}, {} parts at most, at {}, window {}{}", s.heads, s.dim, s.most, s.position,
                            s.window, s.planes ? ", to planes" : ""),
            .limit = 1e-6,
            .dispatches = {{kAttentionMerge,
                            {{"kCols", double(cols)},
                             {"kDim", double(s.dim)},
                             {"kWindow", double(s.window)},
                             {"kMaxSplits", double(s.most)},
                             {"kPlanes", s.planes ? 1.0 : 0.0}},
                            {ceil_div(cols, 8 * 64), 1, 1}}},
            .arrays = [s](Random& random) { return arrays_of(s, random); }};
}

}  // namespace

std::vector<Case> all() {
    std::vector<Case> out = {attention_merge({.heads = 3, .dim = 256, .position = 300, .most = 8}),
                             attention_merge({.heads = 3, .dim = 256, .position = 63, .most = 8}),
                             attention_merge({.heads = 5, .dim = 256, .position = 300, .most = 8, .planes = true}),
                             attention_merge({.heads = 2, .dim = 48, .position = 10'000, .most = 6, .window = 129})};
    out.front().quick = true;
    return out;
}

}  // namespace lapidary::kernels::check::attention_merge_cases
