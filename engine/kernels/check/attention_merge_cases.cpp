#include <algorithm>

#include "kernels/check/suites.h"

namespace lapidary::kernels::check {
namespace {

struct Shape {
    uint32_t heads;
    uint32_t dim;
    uint32_t splits;
    uint32_t tokens;
};

// step, parts: [tokens, heads, splits, dim + 2] with acc, largest, sum; y: [tokens, heads, dim]
std::vector<Array> arrays_of(const Shape& s, Random& random) {
    const size_t rows = size_t(s.tokens) * s.heads;
    const size_t part = s.dim + 2;
    std::vector<float> parts = random.floats(rows * s.splits * part);
    Array y = written(random, rows * s.dim);
    for (size_t row = 0; row < rows; ++row) {
        const auto mine = std::span(parts).subspan(row * s.splits * part, s.splits * part);
        double largest = -1e30;
        for (size_t k = 0; k < s.splits; ++k) {
            float& top = mine[k * part + s.dim];
            float& sum = mine[k * part + s.dim + 1];
            top *= 8;
            sum = random.uniform(1, 5);
            if (k > 0 && k + 1 == s.splits) {  // a part that had no keys
                std::ranges::fill(mine.subspan(k * part, s.dim), 0.0f);
                top = -3e38f;
                sum = 0;
            }
            largest = std::max(largest, double(top));
        }
        double total = 0;
        for (size_t k = 0; k < s.splits; ++k) {
            total += double(mine[k * part + s.dim + 1]) * std::exp(double(mine[k * part + s.dim]) - largest);
        }
        for (size_t i = 0; i < s.dim; ++i) {
            double sum = 0;
            for (size_t k = 0; k < s.splits; ++k) {
                sum += double(mine[k * part + i]) * std::exp(double(mine[k * part + s.dim]) - largest);
            }
            y.expected[row * s.dim + i] = sum / total;
        }
    }
    return {step(0, s.tokens), given(parts), std::move(y)};
}

Case attention_merge(const Shape& s) {
    return {.shape = format("{} heads of {}, {} parts, {} tokens", s.heads, s.dim, s.splits, s.tokens),
            .dispatches = {{kAttentionMerge,
                            {{"kHeads", double(s.heads)}, {"kDim", double(s.dim)}, {"kSplits", double(s.splits)}},
                            {s.heads, s.tokens + 1, 1}}},
            .arrays = [s](Random& random) { return arrays_of(s, random); }};
}

}  // namespace

std::vector<Case> attention_merge_cases() {
    std::vector<Case> out = {attention_merge({.heads = 3, .dim = 256, .splits = 8, .tokens = 1}),
                             attention_merge({.heads = 2, .dim = 36, .splits = 3, .tokens = 2})};
    out.front().quick = true;
    return out;
}

}  // namespace lapidary::kernels::check
