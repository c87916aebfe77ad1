#include "train/products.h"

#include <algorithm>

#include "quant/simd.h"

namespace lapidary::train {
namespace {

using quant::F32x4;
using quant::load;
using quant::splat;
using quant::store;

// Rows of W that are decoded together: with 512 columns they fill a level-1 cache, and the tokens stream past them.
constexpr size_t kPanel = 16;

// out[r][t] = Σ_i w[r][i] · x[t][i]: two rows against four tokens, eight sums in registers.
void dots(const float* const w[2], const float* const x[4], size_t n, float out[2][4]) {
    F32x4 sum[2][4] = {};
    size_t i = 0;
    for (; i + 4 <= n; i += 4) {
        const auto w0 = load<F32x4>(w[0] + i);
        const auto w1 = load<F32x4>(w[1] + i);
        for (size_t t = 0; t < 4; ++t) {
            const auto v = load<F32x4>(x[t] + i);
            sum[0][t] += w0 * v;
            sum[1][t] += w1 * v;
        }
    }
    for (size_t r = 0; r < 2; ++r) {
        for (size_t t = 0; t < 4; ++t) {
            const F32x4 lanes = sum[r][t];
            out[r][t] = (lanes[0] + lanes[2]) + (lanes[1] + lanes[3]);
            for (size_t k = i; k < n; ++k) out[r][t] += w[r][k] * x[t][k];
        }
    }
}

// y[t, first + r] for the rows of a decoded panel. At the edges a tile computes a neighbour twice and keeps one.
void panel_product(std::span<const float> panel, size_t cols, std::span<const float> x, size_t first, size_t rows,
                   std::span<float> y) {
    const size_t tokens = x.size() / cols;
    const size_t count = panel.size() / cols;
    for (size_t t = 0; t < tokens; t += 4) {
        const float* in[4];
        for (size_t j = 0; j < 4; ++j) in[j] = x.data() + std::min(t + j, tokens - 1) * cols;
        for (size_t r = 0; r < count; r += 2) {
            const float* w[2] = {panel.data() + r * cols, panel.data() + std::min(r + 1, count - 1) * cols};
            float out[2][4];
            dots(w, in, cols, out);
            for (size_t j = 0; j < std::min<size_t>(4, tokens - t); ++j) {
                for (size_t k = 0; k < std::min<size_t>(2, count - r); ++k)
                    y[(t + j) * rows + first + r + k] = out[k][j];
            }
        }
    }
}

// c[j][0..8) += Σ_k p[j][k] · q[k][0..8) for four rows j of c.
void tile(const float* const p[4], const float* q, size_t k, size_t stride, float* const c[4]) {
    F32x4 sum[4][2] = {};
    for (size_t i = 0; i < k; ++i) {
        const auto q0 = load<F32x4>(q + i * stride);
        const auto q1 = load<F32x4>(q + i * stride + 4);
        for (size_t j = 0; j < 4; ++j) {
            const F32x4 factor = splat(p[j][i]);
            sum[j][0] += factor * q0;
            sum[j][1] += factor * q1;
        }
    }
    for (size_t j = 0; j < 4; ++j) {
        if (c[j] == nullptr) continue;
        store(c[j], load<F32x4>(c[j]) + sum[j][0]);
        store(c[j] + 4, load<F32x4>(c[j] + 4) + sum[j][1]);
    }
}

// c: [m, n] += p: [m, k] · q: [k, n], where p's rows are `p_stride` apart.
void add_panel(const ProductShape& shape, const float* p, size_t p_stride, const float* q, float* c) {
    const auto [m, k, n] = shape;
    for (size_t row = 0; row < m; row += 4) {
        const float* from[4];
        float* to[4];
        for (size_t j = 0; j < 4; ++j) from[j] = p + std::min(row + j, m - 1) * p_stride;
        size_t i = 0;
        for (; i + 8 <= n; i += 8) {
            for (size_t j = 0; j < 4; ++j) to[j] = row + j < m ? c + (row + j) * n + i : nullptr;
            tile(from, q + i, k, n, to);
        }
        for (; i < n; ++i) {
            for (size_t j = 0; j < std::min<size_t>(4, m - row); ++j) {
                float sum = 0;
                for (size_t at = 0; at < k; ++at) sum += from[j][at] * q[at * n + i];
                c[(row + j) * n + i] += sum;
            }
        }
    }
}

// Calls with one decoded panel after the other.
template <class Visit>
void for_each_panel(const reference::Matrix& w, const Visit& visit) {
    const auto cols = size_t(w.cols);
    const auto rows = size_t(w.rows);
    std::vector<float> panel(std::min(kPanel, rows) * cols);
    for (size_t first = 0; first < rows; first += kPanel) {
        const size_t count = std::min(kPanel, rows - first);
        for (size_t r = 0; r < count; ++r) w.decode_row(first + r, std::span(panel).subspan(r * cols, cols));
        visit(first, std::span<const float>(panel).first(count * cols));
    }
}

}  // namespace

void product(const reference::Matrix& w, std::span<const float> x, std::span<float> y) {
    for_each_panel(w, [&](size_t first, std::span<const float> panel) {
        panel_product(panel, size_t(w.cols), x, first, size_t(w.rows), y);
    });
}

void add_product_backward(const reference::Matrix& w, std::span<const float> dy, std::span<float> dx) {
    const auto cols = size_t(w.cols);
    const auto rows = size_t(w.rows);
    for_each_panel(w, [&](size_t first, std::span<const float> panel) {
        add_panel({.m = dy.size() / rows, .k = panel.size() / cols, .n = cols}, dy.data() + first, rows, panel.data(),
                  dx.data());
    });
}

void add_product(const ProductShape& shape, std::span<const float> p, std::span<const float> q, std::span<float> c) {
    // In pieces of k, so that the part of q in use stays in the cache.
    constexpr size_t kPiece = 32;
    for (size_t k = 0; k < shape.k; k += kPiece) {
        add_panel({.m = shape.m, .k = std::min(kPiece, shape.k - k), .n = shape.n}, p.data() + k, shape.k,
                  q.data() + k * shape.n, c.data());
    }
}

std::vector<float> transposed(std::span<const float> x, size_t rows, size_t cols) {
    std::vector<float> out(x.size());
    for (size_t r = 0; r < rows; ++r) {
        for (size_t c = 0; c < cols; ++c) out[c * rows + r] = x[r * cols + c];
    }
    return out;
}

namespace {

// scale · A·x: [t, rank]
std::vector<float> low(const UpdateShape& shape, std::span<const float> a, std::span<const float> x) {
    std::vector<float> u(x.size() / shape.in * shape.rank);
    panel_product(a, shape.in, x, 0, shape.rank, u);
    for (float& v : u) v *= shape.scale;
    return u;
}

}  // namespace

void add_update(const UpdateShape& shape, std::span<const float> a, std::span<const float> b, std::span<const float> x,
                std::span<float> y) {
    const std::vector<float> u = low(shape, a, x);
    add_product({.m = x.size() / shape.in, .k = shape.rank, .n = shape.out}, u, transposed(b, shape.out, shape.rank),
                y);
}

// With u = scale·A·x and v = scale·Bᵀ·dy: dB += dyᵀ·u, dA += vᵀ·x, dx += v·A
void add_update_backward(const UpdateShape& shape, std::span<const float> a, std::span<const float> b,
                         std::span<const float> x, std::span<const float> dy, std::span<float> da, std::span<float> db,
                         std::span<float> dx) {
    const size_t tokens = x.size() / shape.in;
    const std::vector<float> u = low(shape, a, x);
    // dBᵀ is computed, [rank, out]: it needs the small u transposed, not the large dy.
    std::vector<float> db_transposed(shape.rank * shape.out);
    add_product({.m = shape.rank, .k = tokens, .n = shape.out}, transposed(u, tokens, shape.rank), dy, db_transposed);
    const std::vector<float> db_here = transposed(db_transposed, shape.rank, shape.out);
    for (size_t i = 0; i < db.size(); ++i) db[i] += db_here[i];

    std::vector<float> v(tokens * shape.rank);
    add_product({.m = tokens, .k = shape.out, .n = shape.rank}, dy, b, v);
    for (float& value : v) value *= shape.scale;
    add_product({.m = shape.rank, .k = tokens, .n = shape.in}, transposed(v, tokens, shape.rank), x, da);
    if (!dx.empty()) add_product({.m = tokens, .k = shape.rank, .n = shape.in}, v, a, dx);
}

}  // namespace lapidary::train
