#include "kernels/check/planes.h"
#include "kernels/check/suites.h"

namespace lapidary::kernels::check::to_planes_cases {
namespace {

// x, y
std::vector<Array> arrays_of(uint32_t cols, Random& random) {
    std::vector<float> x = random.floats(cols);
    // Every half of a unit has a size of its own, and one of them is nothing at all.
    for (size_t i = 0; i < cols; ++i) x[i] *= i / 32 % 5 == 3 ? 0.0f : std::ldexp(1.0f, int(i / 32 % 3) - 1);
    Array y = planes_written(random, std::vector<double>(x.begin(), x.end()));
    return {given(x), std::move(y)};
}

Case to_planes(uint32_t cols) {
    return {.shape = format("{} wide", cols),
            .limit = 5e-7,
            .dispatches = {{kToPlanes, {{"kCols", double(cols)}}, {ceil_div(cols, 8 * 64), 1, 1}}},
            .arrays = [cols](Random& random) { return arrays_of(cols, random); }};
}

}  // namespace

std::vector<Case> all() {
    std::vector<Case> out = {to_planes(32 * 67), to_planes(32), to_planes(12288)};
    out.front().quick = true;
    return out;
}

}  // namespace lapidary::kernels::check::to_planes_cases
