// The operations of the model, each in its slowest obvious form: what every faster version must equal.
// Arrays are row-major; shapes are in the comments.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "reference/matrix.h"

namespace lapidary::reference {

// x: [rows, n], w: [n] or empty (plain norm), y: [rows, n], may be x itself.
// y[r, i] = x[r, i] · w[i] / sqrt(mean(x[r, :]²) + eps)
void rms_norm(std::span<const float> x, std::span<const float> w, uint32_t n, float eps, std::span<float> y);

// y += rms_norm(x; w), row by row: the end of every sub-layer.
void add_rms_norm(std::span<const float> x, std::span<const float> w, float eps, std::span<float> y);

// The tanh form of GELU, the only one Gemma uses.
float gelu(float x);

// gate[i] = gelu(gate[i]) · up[i]
void gelu_gate(std::span<float> gate, std::span<const float> up);

// x: [heads, head_dim], rotated in place for one position. Pair i is (x[i], x[i + head_dim / 2]).
// inverse_frequencies: [head_dim / 2], the angle a position adds to pair i.
void rope(std::span<float> x, uint32_t head_dim, uint32_t position, std::span<const double> inverse_frequencies);

// base^(-2i / head_dim) / divisors[i]; no divisors means all 1.
std::vector<double> rope_frequencies(uint32_t head_dim, double base, std::span<const float> divisors);

// Divisors for a file without rope_freqs: the first `fraction` of the pairs turns, the rest stands still.
std::vector<float> default_rope_divisors(uint32_t head_dim, float fraction, float factor);

// In place: exp(x - max) / sum.
void softmax(std::span<float> x);

// The `count` largest of p, as indices in ascending order; of equals the first.
std::vector<uint32_t> largest(std::span<const float> p, uint32_t count);

// One query position against cached keys and values.
// q, out: [heads, head_dim]; keys, values: [positions, kv_heads, head_dim], of which [begin, end) are visible.
struct AttentionShape {
    uint32_t heads;
    uint32_t kv_heads;
    uint32_t head_dim;
};
void attention(const AttentionShape& shape, std::span<const float> q, std::span<const float> keys,
               std::span<const float> values, uint32_t begin, uint32_t end, std::span<float> out);

// x: [t, cols] → y: [t, rows]; y[t, r] = Σ_i W[r, i] · x[t, i]. Each row of W is decoded once for all t.
void matmul(const Matrix& w, std::span<const float> x, std::span<float> y);

// x = cap · tanh(x / cap); cap 0 leaves x alone.
void softcap(std::span<float> x, float cap);

}  // namespace lapidary::reference
