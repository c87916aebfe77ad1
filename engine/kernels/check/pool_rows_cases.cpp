#include "kernels/check/suites.h"
#include "kernels/embed/embed_ops.h"

namespace lapidary::kernels::check::pool_rows_cases {
namespace {

struct Shape {
    uint32_t cols;
    std::vector<uint32_t> lengths;  // of the texts, in rows
};

// step, x, texts, y
std::vector<Array> arrays_of(const Shape& s, Random& random) {
    std::vector<uint32_t> texts;
    uint32_t rows = 3;  // that belong to nobody
    for (const uint32_t length : s.lengths) {
        texts.insert(texts.end(), {rows, rows + length});
        rows += length;
    }
    const std::vector<float> x = random.floats(size_t{rows} * s.cols);
    Array y = written(random, s.lengths.size() * s.cols);
    for (size_t t = 0; t < s.lengths.size(); ++t) {
        for (size_t i = 0; i < s.cols; ++i) {
            double sum = 0;
            for (size_t row = texts[2 * t]; row < texts[2 * t + 1]; ++row) sum += double(x[row * s.cols + i]);
            y.expected[t * s.cols + i] = sum / double(s.lengths[t]);
        }
    }
    return {step(7, uint32_t(s.lengths.size())), given(x), given(texts), std::move(y)};
}

Case pool(const Shape& s) {
    return {.shape = format("{} texts, {} wide", s.lengths.size(), s.cols),
            .launches = {launch([s](Tensors t) {
                return PoolRows{.x = gpu::rows_in(t[1].at, 0, s.cols),
                                .y = t[3],
                                .texts = t[2],
                                .count = uint32_t(s.lengths.size()) + 1};
            })},
            .arrays = [s](Random& random) { return arrays_of(s, random); }};
}

}  // namespace

std::vector<Case> all() {
    std::vector<Case> out = {pool({.cols = 96, .lengths = {3, 1, 33, 16}}), pool({.cols = 768, .lengths = {300}}),
                             pool({.cols = 4, .lengths = {17, 15}})};
    out.front().quick = true;
    return out;
}

}  // namespace lapidary::kernels::check::pool_rows_cases
