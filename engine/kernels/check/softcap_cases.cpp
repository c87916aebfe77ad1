#include "kernels/check/suites.h"
#include "kernels/sample/sampling_ops.h"

namespace lapidary::kernels::check::softcap_cases {

std::vector<Case> all() {
    constexpr uint32_t kN = 130;
    constexpr uint32_t kTokens = 3;
    constexpr double kCap = 30;
    // step, y
    const auto arrays = [](Random& random) -> std::vector<Array> {
        const std::vector<float> before = random.floats(size_t{kTokens + 1} * kN, -90, 90);
        Array y = in_place(before);
        for (size_t i = 0; i < size_t{kTokens} * kN; ++i) y.expected[i] = kCap * std::tanh(double(before[i]) / kCap);
        return {step(0, kTokens), std::move(y)};
    };
    return {{.shape = format("{} × {}", kTokens, kN),
             .quick = true,
             .launches = {launch(
                 [](Tensors t) { return Softcap{.y = t[1], .cols = kN, .rows = kTokens + 1, .cap = float(kCap)}; })},
             .arrays = arrays}};
}

}  // namespace lapidary::kernels::check::softcap_cases
