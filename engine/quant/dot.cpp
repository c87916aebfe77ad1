#include "quant/dot.h"

#include <algorithm>

#include "quant/simd.h"

namespace lapidary::quant {
namespace {

// One weight row against `kRows` others. A row's result does not depend on how many there are.
template <size_t kRows>
void dot_rows(const float* weights, size_t n, const float* const* rows, float* out) {
    // Two sums a row: more would not fit the sixteen registers with four rows, and did not help one row.
    F32x4 even[kRows] = {};
    F32x4 odd[kRows] = {};
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        const auto w_even = load<F32x4>(weights + i);
        const auto w_odd = load<F32x4>(weights + i + 4);
        for (size_t r = 0; r < kRows; ++r) {
            even[r] += w_even * load<F32x4>(rows[r] + i);
            odd[r] += w_odd * load<F32x4>(rows[r] + i + 4);
        }
    }
    for (size_t r = 0; r < kRows; ++r) {
        const F32x4 lanes = even[r] + odd[r];
        out[r] = (lanes[0] + lanes[2]) + (lanes[1] + lanes[3]);
        for (size_t k = i; k < n; ++k) out[r] += weights[k] * rows[r][k];
    }
}

}  // namespace

float dot(std::span<const float> a, std::span<const float> b) {
    const float* row = b.data();
    float result;
    dot_rows<1>(a.data(), std::min(a.size(), b.size()), &row, &result);
    return result;
}

void dot4(std::span<const float> weights, const std::array<const float*, 4>& rows, std::span<float, 4> out) {
    const std::array<const float*, 4> local = rows;
    dot_rows<4>(weights.data(), weights.size(), local.data(), out.data());
}

}  // namespace lapidary::quant
