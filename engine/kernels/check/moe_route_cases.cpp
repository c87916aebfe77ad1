#include <algorithm>
#include <numeric>

#include "kernels/check/suites.h"
#include "kernels/moe/moe_ops.h"

namespace lapidary::kernels::check::moe_route_cases {
namespace {

struct Shape {
    uint32_t experts;
    uint32_t used;
    uint32_t tokens;
    uint32_t levels;  // different logits there are: few of them make ties
};

// step, logits: [tokens, experts], scales: [experts], ids, weights: [tokens, used]
std::vector<Array> arrays_of(const Shape& s, Random& random) {
    std::vector<float> logits(size_t(s.tokens) * s.experts);
    for (float& logit : logits) logit = float(random.below(s.levels)) / float(s.levels) * 8 - 4;
    const std::vector<float> scales = random.floats(s.experts, 0.5f, 2);
    Array ids = written(random, size_t(s.tokens) * s.used, Element::u32);
    Array weights = written(random, size_t(s.tokens) * s.used);
    for (size_t t = 0; t < s.tokens; ++t) {
        const auto row = std::span(logits).subspan(t * s.experts, s.experts);
        // The largest first; of equal ones, those with the lower number.
        std::vector<uint32_t> order(s.experts);
        std::iota(order.begin(), order.end(), 0u);
        std::ranges::stable_sort(order, [&](uint32_t a, uint32_t b) { return row[a] > row[b]; });
        double sum = 0;
        for (size_t k = 0; k < s.used; ++k) sum += std::exp(double(row[order[k]]));
        for (size_t k = 0; k < s.used; ++k) {
            ids.expected[t * s.used + k] = order[k];
            weights.expected[t * s.used + k] = std::exp(double(row[order[k]])) / sum * double(scales[order[k]]);
        }
    }
    return {step(0, s.tokens), given(logits), given(scales), std::move(ids), std::move(weights)};
}

Case route(const Shape& s) {
    return {.shape = format("{} of {} experts, {} tokens, {} levels", s.used, s.experts, s.tokens, s.levels),
            .launches = {launch([s](Tensors t) {
                return MoeRoute{.logits = t[1],
                                .scales = t[2],
                                .ids = t[3],
                                .weights = t[4],
                                .experts = s.experts,
                                .used = s.used,
                                .rows = s.tokens + 64};  // a workgroup more than there is work for
            })},
            .arrays = [s](Random& random) { return arrays_of(s, random); }};
}

}  // namespace

std::vector<Case> all() {
    std::vector<Case> out = {route({.experts = 128, .used = 8, .tokens = 17, .levels = 1u << 20}),
                             route({.experts = 128, .used = 8, .tokens = 65, .levels = 5}),
                             route({.experts = 5, .used = 3, .tokens = 2, .levels = 1}),
                             route({.experts = 5, .used = 3, .tokens = 1, .levels = 2})};
    out[0].quick = true;
    out[1].quick = true;
    return out;
}

}  // namespace lapidary::kernels::check::moe_route_cases
