// Matrix products for the CPU's training: the same numbers as the plain loops, in tiles that stay in registers. f32 sums
// in a fixed order, so that every machine gives the same bits.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "reference/matrix.h"

namespace lapidary::train {

// x: [t, cols] → y: [t, rows]; y[t, r] = Σ_i W[r, i] · x[t, i]. Each row of W is decoded once for all t.
void product(const reference::Matrix& w, std::span<const float> x, std::span<float> y);

// The gradient of that: dx[t, i] += Σ_r W[r, i] · dy[t, r]. Each row of W is decoded once for all t.
void add_product_backward(const reference::Matrix& w, std::span<const float> dy, std::span<float> dx);

// c: [m, n] += p: [m, k] · q: [k, n]
struct ProductShape {
    size_t m, k, n;
};
void add_product(const ProductShape& shape, std::span<const float> p, std::span<const float> q, std::span<float> c);

// x: [rows, cols] → [cols, rows]
std::vector<float> transposed(std::span<const float> x, size_t rows, size_t cols);

// y += scale · B·(A·x), and its gradients. `x` is what A sees: with dropout, some of it is 0.
// a, da: [rank, in]; b, db: [out, rank]; x, dx: [t, in]; y, dy: [t, out]; dx may be empty when nobody needs it.
struct UpdateShape {
    size_t rank, in, out;
    float scale;
};
void add_update(const UpdateShape& shape, std::span<const float> a, std::span<const float> b, std::span<const float> x,
                std::span<float> y);
void add_update_backward(const UpdateShape& shape, std::span<const float> a, std::span<const float> b,
                         std::span<const float> x, std::span<const float> dy, std::span<float> da, std::span<float> db,
                         std::span<float> dx);

}  // namespace lapidary::train
