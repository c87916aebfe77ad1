#include "towers/linear.h"

#include <algorithm>
#include <cmath>

#include "reference/ops.h"

namespace lapidary::towers {
namespace {
// Rows between two breaths: each row of weights is decoded once for so many.
constexpr size_t kRows = 64;
}  // namespace

Result<ClippedMatrix> loaded(const Linear& linear, const reference::Weights& weights) {
    return ClippedMatrix{.matrix = weights.matrix(linear.weight), .bounds = TRY(bounds_of(linear, weights))};
}

Task<Result<std::vector<float>>> apply(const ClippedMatrix& w, std::span<const float> x, Breathe breathe) {
    const auto cols = size_t(w.matrix.cols);
    const auto rows = size_t(w.matrix.rows);
    const size_t count = x.size() / cols;
    std::vector<float> y(count * rows);
    std::vector<float> in;
    for (size_t at = 0; at < count; at += kRows) {
        const size_t some = std::min(kRows, count - at);
        const auto given = x.subspan(at * cols, some * cols);
        const auto out = std::span(y).subspan(at * rows, some * rows);
        in.assign(given.begin(), given.end());
        clip(in, w.bounds.input);
        reference::matmul(w.matrix, in, out);
        clip(out, w.bounds.output);
        if (breathe) CO_TRY(co_await breathe());
    }
    co_return y;
}

Task<Result<std::vector<float>>> apply(const Matrix& w, std::span<const float> x, Breathe breathe) {
    const ClippedMatrix free{.matrix = w, .bounds = {}};
    co_return co_await apply(free, x, std::move(breathe));
}

void layer_norm(std::span<float> x, std::span<const float> w, std::span<const float> b, float eps) {
    const size_t n = w.size();
    for (size_t row = 0; row < x.size() / n; ++row) {
        const auto values = x.subspan(row * n, n);
        double mean = 0;
        for (const float v : values) mean += double(v);
        mean /= double(n);
        double variance = 0;
        for (const float v : values) variance += (double(v) - mean) * (double(v) - mean);
        const double scale = 1 / std::sqrt(variance / double(n) + double(eps));
        for (size_t i = 0; i < n; ++i) {
            values[i] = float((double(values[i]) - mean) * scale) * w[i] + (b.empty() ? 0.0f : b[i]);
        }
    }
}

}  // namespace lapidary::towers
