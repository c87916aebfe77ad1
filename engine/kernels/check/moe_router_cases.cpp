#include <algorithm>
#include <numeric>

#include "kernels/check/suites.h"
#include "kernels/moe/moe_ops.h"

namespace lapidary::kernels::check::moe_router_cases {
namespace {

struct Shape {
    uint32_t n;
    uint32_t experts;
    uint32_t used;
    uint32_t tokens;
    bool same = false;  // all experts have the same weights: the choice is by number
};

constexpr float kEps = 1e-6f;

// step, h, w, vectors, ids, weights, z
std::vector<Array> arrays_of(const Shape& s, Random& random) {
    const std::vector<float> h = random.floats(size_t(s.tokens) * s.n);
    std::vector<float> w = random.floats(size_t(s.experts) * s.n);
    if (s.same) {
        for (size_t i = s.n; i < w.size(); ++i) w[i] = w[i % s.n];
    }
    std::vector<float> vectors = random.floats(2 * size_t(s.n), 0.5f, 2);
    for (size_t i = 0; i < s.n; ++i) vectors[i] /= std::sqrt(float(s.n));
    const std::vector<float> scales = random.floats(s.experts, 0.5f, 2);
    vectors.insert(vectors.end(), scales.begin(), scales.end());
    Array ids = written(random, size_t(s.tokens) * s.used, Element::u32);
    Array weights = written(random, size_t(s.tokens) * s.used);
    Array z = written(random, h.size());
    for (size_t t = 0; t < s.tokens; ++t) {
        const auto row = std::span(h).subspan(t * s.n, s.n);
        double squares = 0;
        for (const float v : row) squares += double(v) * double(v);
        const double inverse = 1 / std::sqrt(squares / s.n + double(kEps));
        for (size_t i = 0; i < s.n; ++i) {
            z.expected[t * s.n + i] = double(row[i]) * inverse * double(vectors[s.n + i]);
        }
        std::vector<double> logits(s.experts);
        for (size_t e = 0; e < s.experts; ++e) {
            for (size_t i = 0; i < s.n; ++i) {
                logits[e] += double(row[i]) * inverse * double(vectors[i]) * double(w[e * s.n + i]);
            }
        }
        std::vector<uint32_t> order(s.experts);
        std::iota(order.begin(), order.end(), 0u);
        std::ranges::stable_sort(order, [&](uint32_t a, uint32_t b) { return logits[a] > logits[b]; });
        double sum = 0;
        for (size_t k = 0; k < s.used; ++k) sum += std::exp(logits[order[k]]);
        for (size_t k = 0; k < s.used; ++k) {
            ids.expected[t * s.used + k] = order[k];
            weights.expected[t * s.used + k] = std::exp(logits[order[k]]) / sum * double(scales[order[k]]);
        }
    }
    return {step(0, s.tokens), given(h), given(w), given(vectors), std::move(ids), std::move(weights), std::move(z)};
}

Case case_of(const Shape& s) {
    return {.shape = format("{} wide, {} of {} experts, {} tokens", s.n, s.used, s.experts, s.tokens),
            .quick = true,
            .limit = 5e-6,
            .launches = {{[s](const Target& target, Tensors t) {
                const Weights w{
                    .format = Format::f32, .cols = s.n, .rows = s.experts, .pieces = {{.binding = t[2].at}}};
                return MoeRouter{.h = t[1],
                                 .w = w,
                                 .vectors = t[3],
                                 .ids = t[4],
                                 .weights = t[5],
                                 .z = t[6],
                                 .used = s.used,
                                 .eps = kEps,
                                 .rows = s.tokens + 1}
                    .dispatch(target);
            }}},
            .arrays = [s](Random& random) { return arrays_of(s, random); }};
}

}  // namespace

std::vector<Case> all() {
    return {case_of({.n = 1028, .experts = 128, .used = 8, .tokens = 3}),
            case_of({.n = 256, .experts = 8, .used = 2, .tokens = 17}),
            case_of({.n = 36, .experts = 37, .used = 5, .tokens = 1, .same = true})};
}

}  // namespace lapidary::kernels::check::moe_router_cases
