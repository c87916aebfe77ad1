// exp and tanh of four floats, to 2 units in the last place; sines and cosines of angles.
#pragma once

#include "cpu/kernels/simd.h"

namespace lapidary::cpu {

// A vector of all ones or zeros chooses.
inline F4 choose(I4 which, F4 yes, F4 no) {
    return F4((I4(yes) & which) | (I4(no) & ~which));
}

inline F4 power_of_two(I4 n) {
    return F4((n + 127) << 23);
}

// Beyond what a float can hold: the largest and the smallest ones. NaN stays NaN.
inline F4 exp4(F4 x) {
    x = choose(x < splat(-103.0f), splat(-103.0f), x);
    x = choose(x > splat(88.722f), splat(88.722f), x);
    const F4 n = __builtin_elementwise_roundeven(x * splat(1.44269504f));
    // ln 2 in two parts, the first of which is exact times n.
    const F4 r = (x - n * splat(0.693359375f)) - n * splat(-2.12194440e-4f);
    F4 p = splat(1.9875691500e-4f);
    p = p * r + splat(1.3981999507e-3f);
    p = p * r + splat(8.3334519073e-3f);
    p = p * r + splat(4.1665795894e-2f);
    p = p * r + splat(1.6666665459e-1f);
    p = p * r + splat(5.0000001201e-1f);
    p = p * (r * r) + r + splat(1.0f);
    const I4 is_number = x == x;
    const I4 power = __builtin_convertvector(choose(is_number, n, F4{}), I4);
    const I4 half = power >> 1;  // 2ⁿ alone may not be a float
    return p * power_of_two(half) * power_of_two(power - half);
}

inline F4 tanh4(F4 x) {
    const F4 z = x * x;
    F4 p = splat(-5.70498872745e-3f);
    p = p * z + splat(2.06390887954e-2f);
    p = p * z + splat(-5.37397155531e-2f);
    p = p * z + splat(1.33314422036e-1f);
    p = p * z + splat(-3.33332819422e-1f);
    const F4 near = p * z * x + x;
    const F4 far = splat(1.0f) - splat(2.0f) / (exp4(x + x) + splat(1.0f));
    return choose(z < splat(0.390625f), near, far);
}

// x · (1 + tanh(u)) / 2 with u = √(2/π) · (x + 0.044715 x³), which is x / (1 + exp(−2 u)).
inline F4 gelu4(F4 x) {
    const F4 u = splat(0.7978845608028654f) * (x + splat(0.044715f) * x * x * x);
    return x / (splat(1.0f) + exp4(u * splat(-2.0f)));
}

struct Turn {
    float cosine, sine;
};

// Of an angle of up to some millions, by the series; quarter turns are taken off with π/2 in three parts.
inline Turn turn_by(double angle) {
    const double quarters = __builtin_rint(angle * 0.63661977236758134308);
    const double r = ((angle - quarters * 1.57079632673412561417e+00) - quarters * 6.07710050630396597660e-11) -
                     quarters * 2.02226624879595063154e-21;
    const double z = r * r;
    double sine = 1;
    double cosine = 1;
    LAPIDARY_UNROLL
    for (int n = 18; n > 0; n -= 2) {
        sine = 1 - sine * z * (1.0 / double(n * (n + 1)));
        cosine = 1 - cosine * z * (1.0 / double(n * (n - 1)));
    }
    sine *= r;
    const auto quarter = int64_t(quarters) & 3;
    const double c = quarter % 2 == 0 ? cosine : sine;
    const double s = quarter % 2 == 0 ? sine : cosine;
    return {float(quarter == 1 || quarter == 2 ? -c : c), float(quarter >= 2 ? -s : s)};
}

}  // namespace lapidary::cpu
