// x / rms(x) and RoPE, said slowly.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace lapidary::kernels::check {

inline constexpr double kEps = 1e-6;

// x / sqrt(mean(x²) + kEps) ⊙ w, w empty: 1
std::vector<double> rms_norm(std::span<const double> x, std::span<const float> w);
std::vector<double> rms_norm(std::span<const float> x, std::span<const float> w);

// The gradient by x: with r = 1 / sqrt(mean(x²) + kEps) and g = w ⊙ dy, r·g − x·r³·mean(g ⊙ x).
std::vector<double> rms_norm_back(std::span<const float> x, std::span<const float> w, std::span<const double> dy);
std::vector<double> rms_norm_back(std::span<const float> x, std::span<const float> w, std::span<const float> dy);

// Pair i is (x[i], x[i + dim / 2]), rotated by position · frequency. The last quarter of the pairs stands still.
void rope(std::vector<double>& x, uint32_t position);
// The same the other way round.
void rope_back(std::vector<double>& x, uint32_t position);

// [dim / 2, 4]: revolutions a position as three numbers that add up to it, the first two of 12 significant bits, and a zero.
std::vector<float> frequencies_of(uint32_t dim);
// [dim / 2, 2]: cos and sin of how far they are rotated.
std::vector<float> rope_table_of(uint32_t dim, uint32_t position);

}  // namespace lapidary::kernels::check
