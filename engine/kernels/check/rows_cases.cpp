#include "kernels/check/suites.h"

namespace lapidary::kernels::check::rows_cases {

std::vector<Case> sum_parts() {
    constexpr uint32_t kWidth = 5;
    constexpr uint32_t kTokens = 29;
    constexpr uint32_t kParts = 3;
    constexpr uint32_t kApart = 160;
    // step, size, parts: [parts, apart], y: [tokens, width]
    const auto arrays = [](Random& random) -> std::vector<Array> {
        const std::vector<float> parts = random.floats(size_t{kParts} * kApart);
        Array y = written(random, size_t{kTokens} * kWidth);
        for (size_t i = 0; i < size_t{kTokens} * kWidth; ++i) {
            y.expected[i] = 0;
            for (size_t s = 0; s < kParts; ++s) y.expected[i] += double(parts[s * kApart + i]);
        }
        const std::vector<uint32_t> size = {kWidth, kParts, kApart, 0};
        return {step(0, kTokens), given(size), given(parts), std::move(y)};
    };
    return {{.shape = format("{} parts of {} × {}", kParts, kTokens, kWidth),
             .quick = true,
             .dispatches = {{kSumParts, {}, {ceil_div(kTokens * kWidth, 64) + 1, 1, 1}}},
             .arrays = arrays}};
}

std::vector<Case> take_rows() {
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
             .dispatches = {{kTakeRows, {{"kN", double(kN)}}, {ceil_div(kN, 64), 8, 1}}},
             .arrays = arrays}};
}

}  // namespace lapidary::kernels::check::rows_cases
