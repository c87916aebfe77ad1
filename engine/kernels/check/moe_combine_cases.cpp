#include "kernels/check/suites.h"
#include "kernels/moe/moe_ops.h"

namespace lapidary::kernels::check::moe_combine_cases {
namespace {

struct Shape {
    uint32_t n;
    uint32_t used;  // experts a token
    uint32_t tokens;
};

// step, weights: [tokens, used], x: [tokens, used, n], y: [tokens, n]
std::vector<Array> arrays_of(const Shape& s, Random& random) {
    const std::vector<float> weights = random.floats(size_t(s.tokens) * s.used, 0, 1);
    const std::vector<float> x = random.floats(weights.size() * s.n);
    Array y = written(random, size_t(s.tokens) * s.n);
    for (size_t t = 0; t < s.tokens; ++t) {
        for (size_t i = 0; i < s.n; ++i) {
            double sum = 0;
            for (size_t k = t * s.used; k < (t + 1) * s.used; ++k) sum += double(weights[k]) * double(x[k * s.n + i]);
            y.expected[t * s.n + i] = sum;
        }
    }
    return {step(0, s.tokens), given(weights), given(x), std::move(y)};
}

Case combine(const Shape& s) {
    return {.shape = format("{} wide, {} experts, {} tokens", s.n, s.used, s.tokens),
            .launches = {launch([s](Tensors t) {
                return MoeCombine{
                    .weights = t[1], .x = t[2], .y = t[3], .cols = s.n, .used = s.used, .rows = s.tokens + 1};
            })},
            .arrays = [s](Random& random) { return arrays_of(s, random); }};
}

}  // namespace

std::vector<Case> all() {
    std::vector<Case> out = {combine({.n = 257, .used = 8, .tokens = 15}), combine({.n = 257, .used = 8, .tokens = 1}),
                             combine({.n = 1, .used = 1, .tokens = 17})};
    out.front().quick = true;
    return out;
}

}  // namespace lapidary::kernels::check::moe_combine_cases
