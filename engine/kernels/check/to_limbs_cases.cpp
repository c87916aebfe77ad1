#include "kernels/check/limbs.h"
#include "kernels/check/suites.h"
#include "kernels/gemv/to_limbs.h"

namespace lapidary::kernels::check::to_limbs_cases {
namespace {

// x, y
std::vector<Array> arrays_of(uint32_t cols, Random& random) {
    std::vector<float> x = random.floats(cols);
    // Every half of a unit has a size of its own, and one of them is nothing at all.
    for (size_t i = 0; i < cols; ++i) x[i] *= i / 32 % 5 == 3 ? 0.0f : std::ldexp(1.0f, int(i / 32 % 3) - 1);
    Array y = limbs_written(random, std::vector<double>(x.begin(), x.end()));
    return {given(x), std::move(y)};
}

Case case_of(uint32_t cols) {
    return {.shape = format("{} wide", cols),
            .limit = 5e-7,
            .launches = {launch([cols](Tensors t) { return ToLimbs{.x = t[0], .y = t[1], .cols = cols}; })},
            .arrays = [cols](Random& random) { return arrays_of(cols, random); }};
}

}  // namespace

std::vector<Case> all() {
    std::vector<Case> out = {case_of(32 * 67), case_of(32), case_of(12288)};
    out.front().quick = true;
    return out;
}

}  // namespace lapidary::kernels::check::to_limbs_cases
