// Q6_K: x ≈ scale · q, q of −32 … 31, in each of sixteen sub-blocks of 16, found by trying 19 step widths.
//
// As in Q4_K, four sub-blocks are searched at once, one a lane, with the sums in the reference encoder's order.
#include <cmath>

#include "base/half.h"
#include "quant/encode_families.h"
#include "quant/simd.h"

namespace lapidary::quant {
namespace {

constexpr int kSub = 16;   // elements of a sub-block
constexpr int kSubs = 16;  // sub-blocks of a block
constexpr float kTiny = 1e-15f;
constexpr float kLimit = 32 * kLargestHalf;

F32x4 magnitude(F32x4 value) {
    return F32x4(I32x4(value) & 0x7FFFFFFF);
}

struct Fit {
    F32x4 q[kSub];
    F32x4 scale;
};

// How well the levels of one step width fit: two sums, each term weighted by x².
struct Trial {
    F32x4 sum_xq = {};
    F32x4 sum_qq = {};
};

F32x4 level(F32x4 x, F32x4 inverse_step) {
    return round_even(clamp(inverse_step * x, -32, 31));
}

Trial try_step(const F32x4 (&x)[kSub], F32x4 inverse_step) {
    Trial trial;
    for (const F32x4 v : x) {
        const F32x4 q = level(v, inverse_step);
        const F32x4 w = v * v;
        trial.sum_xq += w * v * q;
        trial.sum_qq += w * q * q;
    }
    return trial;
}

Fit fit(const F32x4 (&x)[kSub]) {
    F32x4 farthest = {};  // extreme(), lane by lane
    F32x4 largest = {};
    for (const F32x4 v : x) {
        const I32x4 larger = magnitude(v) > largest;
        farthest = larger ? v : farthest;
        largest = larger ? magnitude(v) : largest;
    }
    const I32x4 empty = largest < splat(kTiny);

    Fit best;
    F32x4 best_inverse = splat(-32) / farthest;
    Trial trial = try_step(x, best_inverse);
    best.scale = trial.sum_qq != 0.0f ? trial.sum_xq / trial.sum_qq : F32x4{};
    F32x4 merit = best.scale * trial.sum_xq;
    for (int step = -9; step <= 9; ++step) {
        if (step == 0) continue;
        const F32x4 inverse_step = splat(-(32.0f + 0.1f * float(step))) / farthest;
        trial = try_step(x, inverse_step);
        const I32x4 better = (trial.sum_qq > 0.0f) & (trial.sum_xq * trial.sum_xq > merit * trial.sum_qq);
        const F32x4 scale = trial.sum_xq / trial.sum_qq;
        best.scale = better ? scale : best.scale;
        merit = better ? scale * trial.sum_xq : merit;
        best_inverse = better ? inverse_step : best_inverse;
    }
    // Nothing but zeros: the reference writes the lowest level, and scale 0 makes it 0 again.
    best.scale = empty ? F32x4{} : best.scale;
    for (int i = 0; i < kSub; ++i) best.q[i] = empty ? splat(-32) : level(x[i], best_inverse);
    return best;
}

// Levels of 0 … 63, a byte each, into the four low nibbles and four pairs of upper bits that share bytes.
void pack(const uint8_t (&level)[256], uint8_t* out) {
    for (int half = 0; half < 2; ++half) {
        const uint8_t* from = level + 128 * half;
        uint8_t* ql = out + 64 * half;
        uint8_t* qh = out + 128 + 32 * half;
        for (int i = 0; i < 32; ++i) {
            const uint8_t a = from[i];
            const uint8_t b = from[i + 32];
            const uint8_t c = from[i + 64];
            const uint8_t d = from[i + 96];
            ql[i] = uint8_t((a & 15) | (c & 15) << 4);
            ql[i + 32] = uint8_t((b & 15) | (d & 15) << 4);
            qh[i] = uint8_t(a >> 4 | (b >> 4) << 2 | (c >> 4) << 4 | (d >> 4) << 6);
        }
    }
}

void encode_block(const float* values, uint8_t* out) {
    float x[kSubs][kSub];
    float q[kSubs][kSub];
    float scale[kSubs];
    for (int j = 0; j < kSubs; ++j) {
        for (int i = 0; i < kSub; ++i) x[j][i] = tamed(values[kSub * j + i], kLimit);
    }
    for (int four = 0; four < kSubs; four += 4) {
        F32x4 lanes[kSub];
        for (int i = 0; i < kSub; ++i) lanes[i] = F32x4{x[four][i], x[four + 1][i], x[four + 2][i], x[four + 3][i]};
        const Fit found = fit(lanes);
        for (int lane = 0; lane < 4; ++lane) {
            scale[four + lane] = found.scale[lane];
            for (int i = 0; i < kSub; ++i) q[four + lane][i] = found.q[i][lane];
        }
    }

    const float largest = extreme(scale);
    if (std::fabs(largest) < kTiny) {
        std::memset(out, 0, 210);
        return;
    }
    const float inverse = -128.0f / largest;
    const uint16_t d = f32_to_f16(1.0f / inverse);
    store(out + 208, d);
    uint8_t level[256];
    for (int j = 0; j < kSubs; ++j) {
        const float rounded = round_even(clamp(splat(inverse * scale[j]), -128, 127))[0];
        out[192 + j] = uint8_t(int8_t(rounded));
        const float step = f16_to_f32(d) * rounded;
        for (int i = 0; i < kSub; i += 4) {
            auto chosen = load<F32x4>(&q[j][i]);
            // With the scale now rounded, choose the level anew.
            if (step != 0) chosen = round_even(clamp(load<F32x4>(&x[j][i]) / splat(step), -32, 31));
            for (int k = 0; k < 4; ++k) level[kSub * j + i + k] = uint8_t(int(chosen[k]) + 32);
        }
    }
    pack(level, out);
}

}  // namespace

void encode_q6_k(std::span<const float> values, uint8_t* out) {
    for (size_t start = 0; start < values.size(); start += 256, out += 210) encode_block(&values[start], out);
}

}  // namespace lapidary::quant
