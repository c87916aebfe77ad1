#include <algorithm>
#include <bit>

#include "kernels/check/suites.h"
#include "kernels/gemm/batched_gemm.h"
#include "sample/random.h"

namespace lapidary::kernels::check::batched_gemm_cases {
namespace {

struct Test {
    std::string_view name;
    GemmShape shape;
    uint32_t tokens = 0;
    uint32_t batches = 1;
    bool wide = true;
    Drop drop = Drop::nothing;
};

constexpr uint32_t kUpdates = 3;
constexpr float kProbability = 0.3f;

uint32_t extent(uint32_t most, uint32_t first, uint32_t tokens) {
    if (first == GemmShape::kNoTokens) return most;
    return std::min(most, tokens > first ? tokens - first : 0);
}

// 0, or what an element counts that is not dropped.
double kept(const Test& test, std::span<const uint32_t> drops, uint32_t token, uint32_t column) {
    const auto drop = drops.subspan(size_t{4} * test.shape.update, 4);
    const uint32_t word = sample::mix(drop[0], drop[1], token * test.shape.columns + column).x;
    return float(word >> 8) * 0x1p-24f < kProbability ? 0 : double(std::bit_cast<float>(drop[3]));
}

// step, p, q, drops, c
std::vector<Array> arrays_of(const Test& test, Random& random) {
    const GemmShape& s = test.shape;
    const uint32_t most_m = extent(s.m, s.token_m, test.tokens);
    const uint32_t most_n = extent(s.n, s.token_n, test.tokens);
    const uint32_t most_k = extent(s.k, s.token_k, test.tokens);
    const uint32_t last = test.batches - 1;
    const auto end_of = [&](uint32_t at, uint32_t outer, uint32_t k, uint32_t batch, uint32_t repeat) {
        return size_t(at) + outer + k + batch + repeat + 1;
    };
    const std::vector<float> p =
        random.floats(end_of(s.p_at, (s.m - 1) * s.p_m, (std::max(s.k, s.all_k) - 1) * s.p_k,
                             s.all_k > 0 ? 0 : last / s.p_share * s.p_batch, (s.repeats - 1) * s.p_repeat));
    const std::vector<float> q =
        random.floats(end_of(s.q_at, (s.n - 1) * s.q_n, (std::max(s.k, s.all_k) - 1) * s.q_k,
                             s.all_k > 0 ? 0 : last / s.q_share * s.q_batch, (s.repeats - 1) * s.q_repeat));
    const std::vector<float> c =
        random.floats(end_of(s.c_at, (s.m - 1) * s.c_m, (s.n - 1) * s.c_n, last * s.c_batch, 0));
    std::vector<uint32_t> drops;
    for (uint32_t i = 0; i < kUpdates; ++i) {
        drops.insert(drops.end(), {random.bits(), random.bits(), std::bit_cast<uint32_t>(kProbability),
                                   std::bit_cast<uint32_t>(1 / (1 - kProbability))});
    }
    Array out = in_place(c);
    for (uint32_t b = 0; b < test.batches; ++b) {
        const uint32_t here = s.all_k == 0 ? most_k : std::min(most_k, s.all_k > b * s.k ? s.all_k - b * s.k : 0);
        for (uint32_t m = 0; m < most_m; ++m) {
            for (uint32_t n = 0; n < most_n; ++n) {
                double sum = 0;
                for (uint32_t j = 0; j < s.repeats; ++j) {
                    for (uint32_t k = 0; k < here; ++k) {
                        double x =
                            double(p[s.p_at + m * s.p_m + k * s.p_k + b / s.p_share * s.p_batch + j * s.p_repeat]);
                        if (test.drop == Drop::from_p) x *= kept(test, drops, m, (s.all_k > 0 ? b * s.k : 0) + k);
                        if (test.drop == Drop::from_q) x *= kept(test, drops, k, m);
                        sum +=
                            x * double(q[s.q_at + n * s.q_n + k * s.q_k + b / s.q_share * s.q_batch + j * s.q_repeat]);
                    }
                }
                sum *= double(s.factor);
                if (test.drop == Drop::from_c) sum *= kept(test, drops, n, m);
                const size_t at = s.c_at + m * s.c_m + n * s.c_n + b * s.c_batch;
                out.expected[at] = sum + (s.keep != 0 ? double(c[at]) : 0);
            }
        }
    }
    return {step(0, test.tokens), given(p), given(q), given(drops), std::move(out)};
}

Case gemm(const Test& test) {
    const GemmShape& s = test.shape;
    return {
        .shape = format("{}, {} × {} × {}, {} of them, {} tokens", test.name, s.m, s.n, s.k, test.batches, test.tokens),
        .limit = 2e-6,
        .launches = {launch([test](Tensors t) {
            return BatchedGemm{.shape = test.shape,
                               .p = t[1],
                               .q = t[2],
                               .c = t[4],
                               .wide = test.wide,
                               .batches = test.batches,
                               .drop = test.drop,
                               .drops = t[3]};
        })},
        .arrays = [test](Random& random) { return arrays_of(test, random); }};
}

}  // namespace

std::vector<Case> all() {
    const uint32_t none = GemmShape::kNoTokens;
    std::vector<Case> out = {
        // y[t, out] += 2 · z[t, r] · B[out, r], in a part of longer rows
        gemm({.name = "B·z",
              .shape = {.m = 77,
                        .n = 70,
                        .k = 5,
                        .token_m = none,
                        .token_n = 0,
                        .p_at = 3,
                        .p_m = 5,
                        .q_n = 5,
                        .c_at = 9,
                        .c_n = 90,
                        .keep = 1,
                        .factor = 2},
              .tokens = 67}),
        // z[t, r] = x[t, in] · A[r, in], in four parts of the columns, one of them short and one empty
        gemm({.name = "A·x in parts",
              .shape = {.m = 70,
                        .n = 17,
                        .k = 48,
                        .token_m = 0,
                        .all_k = 137,
                        .p_m = 137,
                        .p_batch = 48,
                        .q_n = 137,
                        .q_batch = 48,
                        .c_m = 17,
                        .c_n = 1,
                        .c_batch = 70 * 17},
              .tokens = 65,
              .batches = 4,
              .wide = false}),
        // dA[r, in] += (g·B)[t, r] · x[t, in], summed over tokens
        gemm({.name = "dA",
              .shape = {.m = 96,
                        .n = 4,
                        .k = 80,
                        .token_k = 0,
                        .p_m = 1,
                        .p_k = 96,
                        .q_n = 1,
                        .q_k = 4,
                        .c_n = 96,
                        .keep = 1},
              .tokens = 61,
              .wide = false}),
        // scores of query tokens 64 … of 4 heads by the keys of 2
        gemm({.name = "scores",
              .shape = {.m = 130,
                        .n = 64,
                        .k = 36,
                        .token_m = 0,
                        .token_n = 64,
                        .p_m = 144,
                        .p_batch = 36,
                        .p_share = 2,
                        .q_at = 64 * 144,
                        .q_n = 144,
                        .q_batch = 36,
                        .c_n = 130,
                        .c_batch = 64 * 130},
              .tokens = 71,
              .batches = 4}),
        // dK of 2 heads, from 2 query heads each
        gemm({.name = "dK",
              .shape = {.m = 36,
                        .n = 70,
                        .k = 64,
                        .repeats = 2,
                        .token_n = 0,
                        .token_k = 0,
                        .p_m = 1,
                        .p_k = 144,
                        .p_batch = 72,
                        .p_repeat = 36,
                        .q_n = 1,
                        .q_k = 70,
                        .q_batch = 2 * 64 * 70,
                        .q_repeat = 64 * 70,
                        .c_n = 144,
                        .c_batch = 36,
                        .keep = 1},
              .tokens = 50,
              .batches = 2}),
        gemm({.name = "A·x in parts with dropout",
              .shape = {.m = 40,
                        .n = 6,
                        .k = 48,
                        .token_m = 0,
                        .all_k = 90,
                        .p_m = 90,
                        .p_batch = 48,
                        .q_n = 90,
                        .q_batch = 48,
                        .c_m = 6,
                        .c_n = 1,
                        .c_batch = 240,
                        .update = 2,
                        .columns = 90},
              .tokens = 33,
              .batches = 2,
              .wide = false,
              .drop = Drop::from_p}),
        gemm({.name = "dA with dropout",
              .shape = {.m = 90,
                        .n = 6,
                        .k = 40,
                        .token_k = 0,
                        .p_m = 1,
                        .p_k = 90,
                        .q_n = 1,
                        .q_k = 6,
                        .c_n = 90,
                        .update = 1,
                        .columns = 90},
              .tokens = 33,
              .wide = false,
              .drop = Drop::from_q}),
        gemm({.name = "dx with dropout",
              .shape = {.m = 90,
                        .n = 40,
                        .k = 6,
                        .token_n = 0,
                        .p_m = 1,
                        .p_k = 90,
                        .q_n = 6,
                        .c_n = 90,
                        .keep = 1,
                        .update = 0,
                        .columns = 90},
              .tokens = 33,
              .drop = Drop::from_c}),
    };
    for (const size_t quick : {0u, 1u}) out[quick].quick = true;
    return out;
}

}  // namespace lapidary::kernels::check::batched_gemm_cases
