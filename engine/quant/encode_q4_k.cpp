// Q4_K: x ≈ scale · q − min in each of eight sub-blocks of 32, found by trying 21 step widths and fitting scale and
// minimum to each by weighted least squares.
//
// Four sub-blocks are searched at once, one a lane. Within a lane every sum runs in the order of the reference
// encoder, so the result is its result to the bit, and not merely close to it.
#include <cmath>

#include "base/half.h"
#include "quant/encode_families.h"
#include "quant/k_scales.h"
#include "quant/simd.h"

namespace lapidary::quant {
namespace {

constexpr int kSub = 32;  // elements of a sub-block
constexpr int kTop = 15;  // the largest q
constexpr int kSteps = 21;
// Half the reach of the scales, because a fit may overshoot the values it fits.
constexpr float kLimit = 32 * kLargestHalf;

struct Fit {
    F32x4 q[kSub];
    F32x4 scale;
    F32x4 min;  // ≥ 0, to be subtracted
};

// The q nearest to x when steps are 1 / inverse_step wide and counted from `low`.
F32x4 level(F32x4 x, F32x4 inverse_step, F32x4 low) {
    return round_even(clamp(inverse_step * (x - low), 0, kTop));
}

void levels(const F32x4 (&x)[kSub], F32x4 inverse_step, F32x4 low, F32x4 (&q)[kSub]) {
    for (int i = 0; i < kSub; ++i) q[i] = level(x[i], inverse_step, low);
}

F32x4 weighted_error(const F32x4 (&x)[kSub], const F32x4 (&w)[kSub], const F32x4 (&q)[kSub], F32x4 scale, F32x4 low) {
    F32x4 error = {};
    for (int i = 0; i < kSub; ++i) {
        const F32x4 difference = scale * q[i] + low - x[i];
        error += w[i] * (difference * difference);
    }
    return error;
}

Fit fit(const F32x4 (&x)[kSub]) {
    F32x4 square_sum = {};
    F32x4 low = {};
    F32x4 high = x[0];
    for (const F32x4 v : x) {
        square_sum += v * v;
        low = v < low ? v : low;
        high = v > high ? v : high;
    }
    F32x4 spread;
    for (int lane = 0; lane < 4; ++lane) spread[lane] = std::sqrt(square_sum[lane] / float(kSub));
    // Large weights matter more, but none is to be ignored.
    F32x4 w[kSub];
    F32x4 sum_w = {};
    F32x4 sum_x = {};
    for (int i = 0; i < kSub; ++i) {
        w[i] = spread + F32x4(I32x4(x[i]) & 0x7FFFFFFF);
        sum_w += w[i];
        sum_x += w[i] * x[i];
    }

    // A sub-block of equal values ≤ 0 has no step width: scale 0 and the minimum alone.
    const I32x4 flat = high == low;
    Fit best;
    // The levels of the best fit are not kept, but the two numbers that give them: far less to copy.
    F32x4 best_inverse = splat(kTop) / (high - low);
    F32x4 best_low = low;
    best.scale = splat(1) / best_inverse;
    levels(x, best_inverse, low, best.q);
    F32x4 best_error = weighted_error(x, w, best.q, best.scale, low);

    for (int step = 0; step < kSteps; ++step) {
        // `low` is that of the best fit so far, here and below: the reference encoder goes on from there.
        const float stretched = -1.0f + 0.1f * float(step) + float(kTop);
        const F32x4 inverse_step = splat(stretched) / (high - low);
        F32x4 q[kSub];
        F32x4 sum_q = {};
        F32x4 sum_qq = {};
        F32x4 sum_xq = {};
        for (int i = 0; i < kSub; ++i) {
            q[i] = level(x[i], inverse_step, low);
            const F32x4 wq = w[i] * q[i];
            sum_q += wq;
            sum_qq += wq * q[i];
            sum_xq += wq * x[i];
        }
        const F32x4 determinant = sum_w * sum_qq - sum_q * sum_q;
        F32x4 scale = (sum_w * sum_xq - sum_x * sum_q) / determinant;
        F32x4 min = (sum_qq * sum_x - sum_q * sum_xq) / determinant;
        // The format cannot add, only subtract a minimum.
        scale = min > 0.0f ? sum_xq / sum_qq : scale;
        min = min > 0.0f ? F32x4{} : min;
        const F32x4 error = weighted_error(x, w, q, scale, min);
        const I32x4 better = (determinant > 0.0f) & (error < best_error) & ~flat;
        best_error = better ? error : best_error;
        best_inverse = better ? inverse_step : best_inverse;
        best_low = better ? low : best_low;
        best.scale = better ? scale : best.scale;
        low = better ? min : low;
    }
    levels(x, best_inverse, best_low, best.q);
    best.scale = flat ? F32x4{} : best.scale;
    best.min = -low;
    return best;
}

// value · 63 / largest as an integer of 0 … 63, ties to even.
uint8_t six_bits(float value, float inverse) {
    return uint8_t(round_even(clamp(splat(inverse * value), 0, 63))[0]);
}

void encode_block(const float* values, uint8_t* out) {
    float q[8][kSub];
    float scale[8];
    float min[8];
    float x[8][kSub];
    for (int j = 0; j < 8; ++j) {
        for (int i = 0; i < kSub; ++i) x[j][i] = tamed(values[kSub * j + i], kLimit);
    }
    for (int four = 0; four < 8; four += 4) {
        F32x4 lanes[kSub];
        for (int i = 0; i < kSub; ++i) lanes[i] = F32x4{x[four][i], x[four + 1][i], x[four + 2][i], x[four + 3][i]};
        const Fit found = fit(lanes);
        for (int lane = 0; lane < 4; ++lane) {
            scale[four + lane] = found.scale[lane];
            min[four + lane] = found.min[lane];
            for (int i = 0; i < kSub; ++i) q[four + lane][i] = found.q[i][lane];
        }
    }

    float largest_scale = 0;
    float largest_min = 0;
    for (int j = 0; j < 8; ++j) {
        if (scale[j] > largest_scale) largest_scale = scale[j];
        if (min[j] > largest_min) largest_min = min[j];
    }
    const float inverse_scale = largest_scale > 0 ? 63.0f / largest_scale : 0.0f;
    const float inverse_min = largest_min > 0 ? 63.0f / largest_min : 0.0f;
    KScales packed;
    for (int j = 0; j < 8; ++j) {
        packed.scale[j] = six_bits(scale[j], inverse_scale);
        packed.min[j] = six_bits(min[j], inverse_min);
    }
    const uint16_t d = f32_to_f16(largest_scale / 63.0f);
    const uint16_t dmin = f32_to_f16(largest_min / 63.0f);
    store(out, d);
    store(out + 2, dmin);
    pack_k_scales(packed, out + 4);

    // With scale and minimum now rounded, choose the levels anew.
    for (int j = 0; j < 8; ++j) {
        const float step = f16_to_f32(d) * float(packed.scale[j]);
        const float offset = f16_to_f32(dmin) * float(packed.min[j]);
        if (step == 0) continue;
        for (int i = 0; i < kSub; i += 4) {
            const F32x4 wanted = (load<F32x4>(&x[j][i]) + splat(offset)) / splat(step);
            store(&q[j][i], round_even(clamp(wanted, 0, kTop)));
        }
    }
    for (int pair = 0; pair < 4; ++pair) {
        for (int i = 0; i < kSub; ++i) {
            out[16 + kSub * pair + i] = uint8_t(uint8_t(q[2 * pair][i]) | uint8_t(q[2 * pair + 1][i]) << 4);
        }
    }
}

}  // namespace

void encode_q4_k(std::span<const float> values, uint8_t* out) {
    for (size_t start = 0; start < values.size(); start += 256, out += 144) encode_block(&values[start], out);
}

}  // namespace lapidary::quant
