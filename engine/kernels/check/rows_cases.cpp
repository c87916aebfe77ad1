#include "kernels/check/suites.h"
#include "kernels/gemm/batched_gemm.h"
#include "kernels/train/copy_rows.h"

namespace lapidary::kernels::check::rows_cases {

std::vector<Case> sum_partials() {
    constexpr uint32_t kWidth = 5;
    constexpr uint32_t kTokens = 29;
    constexpr uint32_t kCount = 3;
    constexpr uint32_t kApart = 160;
    // step, partials: [partials, apart], y: [tokens, width]
    const auto arrays = [](Random& random) -> std::vector<Array> {
        const std::vector<float> partials = random.floats(size_t{kCount} * kApart);
        Array y = written(random, size_t{kTokens} * kWidth);
        for (size_t i = 0; i < size_t{kTokens} * kWidth; ++i) {
            y.expected[i] = 0;
            for (size_t s = 0; s < kCount; ++s) y.expected[i] += double(partials[s * kApart + i]);
        }
        return {step(0, kTokens), given(partials), std::move(y)};
    };
    return {{.shape = format("{} parts of {} × {}", kCount, kTokens, kWidth),
             .quick = true,
             .launches = {{.op =
                               [](const Target& target, Tensors t) {
                                   return SumPartials{.partials = t[1],
                                                      .y = t[2],
                                                      .width = kWidth,
                                                      .rows = kApart / kWidth,
                                                      .count = kCount}
                                       .dispatch(target);
                               },
                           .grid = Grid{ceil_div(kTokens * kWidth, 64) + 1}}},
             .arrays = arrays}};
}

std::vector<Case> copy_rows() {
    constexpr uint32_t kN = 70;
    constexpr uint32_t kNone = 0xFFFFFFFFu;
    // step, rows, x, y
    const auto arrays = [](Random& random) -> std::vector<Array> {
        const std::vector<float> x = random.floats(size_t{9} * kN);
        const std::vector<uint32_t> rows = {8, kNone, 3, 3, 0, kNone, 5};
        Array y = written(random, rows.size() * kN);
        for (size_t t = 0; t < rows.size(); ++t) {
            for (size_t i = 0; i < kN; ++i) {
                y.expected[t * kN + i] = rows[t] == kNone ? 0 : double(x[rows[t] * kN + i]);
            }
        }
        return {step(0, uint32_t(rows.size())), given(rows), given(x), std::move(y)};
    };
    return {{.shape = format("7 of 9 rows, {} wide", kN),
             .quick = true,
             .launches = {launch(
                 [](Tensors t) { return CopyRows{.rows = t[1], .x = t[2], .y = t[3], .cols = kN, .count = 8}; })},
             .arrays = arrays}};
}

}  // namespace lapidary::kernels::check::rows_cases
