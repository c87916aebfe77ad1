// The backward half of the model's operations, each in its slowest obvious form: what every faster version must equal.
// The forward half is in reference/ops.h. Arrays are row-major; shapes are in the comments. `dx` is the gradient of the
// loss by x. Every function ADDS to the gradients it computes, unless it says that it works in place.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "reference/matrix.h"
#include "reference/ops.h"

namespace lapidary::train {

// y = rms_norm(x; w). x, dy, dx: [rows, n], w: [n] or empty.
// With r = (mean(x²) + eps)^-½ and g = w ⊙ dy: dx += r·g − x·r³·mean(g ⊙ x)
void rms_norm_backward(std::span<const float> x, std::span<const float> w, uint32_t n, float eps,
                       std::span<const float> dy, std::span<float> dx);

// In place: dy: [heads, head_dim] becomes dx. A rotation's gradient is turned back by the same angle.
void rope_backward(std::span<float> dy, uint32_t head_dim, uint32_t position,
                   std::span<const double> inverse_frequencies);

// The derivative of reference::gelu.
float gelu_derivative(float x);

// y = gelu(gate) ⊙ up; all of one length. `dup` may be empty: per-layer inputs need no gradient.
void gelu_gate_backward(std::span<const float> gate, std::span<const float> up, std::span<const float> dy,
                        std::span<float> dgate, std::span<float> dup);

// In place: dp: [n] becomes dx, for p = softmax(x). dx = p ⊙ (dp − Σ p ⊙ dp)
void softmax_backward(std::span<const float> p, std::span<float> dp);

// One query position. q, dout, dq: [heads, head_dim]; keys, values, dkeys, dvalues: [positions, kv_heads, head_dim], of
// which [begin, end) are visible: `begin` is where the window or the example begins, whichever is later.
void attention_backward(const reference::AttentionShape& shape, std::span<const float> q, std::span<const float> keys,
                        std::span<const float> values, uint32_t begin, uint32_t end, std::span<const float> dout,
                        std::span<float> dq, std::span<float> dkeys, std::span<float> dvalues);

// y = x · Wᵀ. dy: [t, rows], dx: [t, cols]. dx[t, i] += Σ_r W[r, i] · dy[t, r]
void matmul_backward(const reference::Matrix& w, std::span<const float> dy, std::span<float> dx);

// y += scale · B·(A·x). x, dx: [t, in]; a, da: [rank, in]; b, db: [out, rank]; y, dy: [t, out]
struct LoraShape {
    uint32_t rank;
    uint32_t in;
    uint32_t out;
    float scale;
};
void lora(const LoraShape& shape, std::span<const float> a, std::span<const float> b, std::span<const float> x,
          std::span<float> y);
void lora_backward(const LoraShape& shape, std::span<const float> a, std::span<const float> b, std::span<const float> x,
                   std::span<const float> dy, std::span<float> da, std::span<float> db, std::span<float> dx);

// Σ_t weights[t] · cross entropy of softcap(head · x[t]) for targets[t]; cap 0 means none. Of the logits only `tile`
// columns exist at a time: once to find the largest and the sum, once more for the gradient.
// x, dx: [t, cols], head: [vocabulary, cols], targets, weights: [t]. dx is of that sum divided by `divisor`.
double head_loss(const reference::Matrix& head, std::span<const float> x, std::span<const int32_t> targets,
                 std::span<const float> weights, float cap, uint32_t tile, double divisor, std::span<float> dx);

// The chosen experts' shares of one token: share[i] = p[i] / Σ_chosen p, p = softmax(logits) over all.
// p, dlogits: [experts]; chosen: indices; dshare: [chosen]. Who is chosen counts as constant.
void route_backward(std::span<const float> p, std::span<const uint32_t> chosen, std::span<const float> dshare,
                    std::span<float> dlogits);

}  // namespace lapidary::train
