// The inner product every matrix row of the CPU path ends in.
#pragma once

#include <array>
#include <span>

namespace lapidary::quant {

// Σ a[i]·b[i] over the shorter length. f32 sums in a fixed order (eight running sums, then a tree), so that every
// machine gives the same bits.
float dot(std::span<const float> a, std::span<const float> b);

// out[r] = dot(weights, rows[r]) to the bit, for four rows of at least the weights' length. Nearly half the loads,
// so about one and a half times as fast: for prompts, where many tokens meet the same weights.
void dot4(std::span<const float> weights, const std::array<const float*, 4>& rows, std::span<float, 4> out);

}  // namespace lapidary::quant
