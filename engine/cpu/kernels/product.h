// y = W · x for packed matrices, whatever the format and the digits. For one token weights are unpacked on their way into the
// product; for many, a block of eight rows is unpacked once. Both do the same arithmetic in the same order, so that a prompt's
// numbers do not depend on how it is cut.
#pragma once

#include "cpu/kernels/digits.h"
#include "cpu/kernels/formats.h"

namespace lapidary::cpu {

// Eight rows of y.
struct Pair {
    F4 a, b;
};

// What the sums of a sub-block begin with: what the offset takes off, digit by digit.
template <int kPer, int kOffset>
[[gnu::always_inline]] inline I4 start_of(const uint8_t* digit_sums, int j) {
    if constexpr (kOffset == 0) return I4{};
    auto sums = load<I4>(digit_sums + 16 * kPer * j);
    if constexpr (kPer == 2) sums += load<I4>(digit_sums + 16 * kPer * j + 16);
    return sums * -kOffset;
}

// y += rows · x over a block of up to 256 columns.
template <class F, class D, class W>
[[gnu::always_inline]] inline void add_block(const W* w, const uint8_t* x, int subs, Pair& y) {
    F4 s0{}, s1{}, m0{}, m1{};
    constexpr int kPer = F::kSub / 16;
    const F4 step = splat(in_register(D::kStep));
    for (int j = 0; j < subs; ++j) {
        typename D::Sums c0 = D::start(start_of<kPer, F::kOffset>(x + D::kLayout.digit_sums, j));
        typename D::Sums c1 = c0;
        const uint8_t* quads = x + j * (F::kSub / 4) * D::kQuadBytes;
        F::each_quad(w, j, [&](int i, auto a, auto b) __attribute__((always_inline)) {
            D::add(quads + i * D::kQuadBytes, D::prepare(a), D::prepare(b), c0, c1);
        });
        s0 = madd(D::value(c0, step), F::scale(w, j, 0), s0);
        s1 = madd(D::value(c1, step), F::scale(w, j, 1), s1);
        if constexpr (F::kHasMin) {
            const F4 sum = splat_at(x + (kPer == 2 ? D::kLayout.pair_sums : D::kLayout.sums) + 4 * j);
            m0 = madd(sum, F::min(w, j, 0), m0);
            m1 = madd(sum, F::min(w, j, 1), m1);
        }
    }
    if constexpr (F::kHasUnits) {
        s0 *= F::unit(w, 0);
        s1 *= F::unit(w, 1);
    }
    if constexpr (F::kHasMin && F::kHasUnits) {
        m0 *= F::min_unit(w, 0);
        m1 *= F::min_unit(w, 1);
    }
    if constexpr (F::kHasMin) {
        s0 += m0;
        s1 += m1;
    }
    const F4 scale = splat_at(x + D::kLayout.scale);
    y.a = madd(scale, s0, y.a);
    y.b = madd(scale, s1, y.b);
}

// A block, unpacked.
template <class F, class D>
struct Panel {
    static constexpr int kSub = F::kSub;
    static constexpr int kOffset = F::kOffset;
    static constexpr bool kHasMin = F::kHasMin;
    static constexpr bool kHasUnits = F::kHasUnits;
    typename D::Weights quads[kBlock / 4][2];
    F4 scales[kBlock / F::kSub][2];
    F4 mins[kHasMin ? kBlock / F::kSub : 1][2];
    F4 units[2], min_units[2];

    void unpack(const uint8_t* w, int subs) {
        for (int j = 0; j < subs; ++j) {
            auto* to = quads[j * (kSub / 4)];
            F::each_quad(w, j, [&](int i, B16 a, B16 b) __attribute__((always_inline)) {
                to[2 * i] = D::prepare(a);
                to[2 * i + 1] = D::prepare(b);
            });
            for (int half = 0; half < 2; ++half) {
                scales[j][half] = F::scale(w, j, half);
                if constexpr (kHasMin) mins[j][half] = F::min(w, j, half);
            }
        }
        for (int half = 0; half < 2; ++half) {
            if constexpr (kHasUnits) units[half] = F::unit(w, half);
            if constexpr (kHasUnits && kHasMin) min_units[half] = F::min_unit(w, half);
        }
    }
    template <class Visit>
    LAPIDARY_INLINE void each_quad(const Panel* p, int j, Visit&& f) {
        const auto* from = p->quads[j * (kSub / 4)];
        LAPIDARY_UNROLL
        for (int i = 0; i < kSub / 4; ++i) f(i, from[2 * i], from[2 * i + 1]);
    }
    LAPIDARY_INLINE F4 scale(const Panel* p, int j, int half) { return p->scales[j][half]; }
    LAPIDARY_INLINE F4 min(const Panel* p, int j, int half) { return p->mins[j][half]; }
    LAPIDARY_INLINE F4 unit(const Panel* p, int half) { return p->units[half]; }
    LAPIDARY_INLINE F4 min_unit(const Panel* p, int half) { return p->min_units[half]; }
};

// The digits are as the panel holds them.
template <class D>
struct Prepared : D {
    [[gnu::always_inline]] static inline typename D::Weights prepare(const typename D::Weights& w) { return w; }
};

// Eight rows against the digits of `count` tokens. w: the group's bytes.
template <class F, class D>
inline void multiply_group(const uint8_t* w, uint32_t cols, const uint8_t* x, uint32_t x_bytes, uint32_t count,
                           Pair* y) {
    constexpr uint32_t kFew = 2;
    constexpr Strip kStrip = strip_of(F::kForm);
    constexpr uint32_t kBlockBytes = kBlock / kStrip.cols * kStrip.bytes;
    for (uint32_t t = 0; t < count; ++t) y[t] = {};
    for (uint32_t col = 0; col < cols; col += kBlock, w += kBlockBytes, x += D::kLayout.bytes) {
        const uint32_t left = cols - col;
        const int subs = int((left < kBlock ? left : kBlock) / F::kSub);
        if (count <= kFew) {
            for (uint32_t t = 0; t < count; ++t) add_block<F, D>(w, x + size_t(t) * x_bytes, subs, y[t]);
        } else {
            Panel<F, D> panel;
            panel.unpack(w, subs);
            for (uint32_t t = 0; t < count; ++t) {
                add_block<Panel<F, D>, Prepared<D>>(&panel, x + size_t(t) * x_bytes, subs, y[t]);
            }
        }
    }
}

}  // namespace lapidary::cpu
