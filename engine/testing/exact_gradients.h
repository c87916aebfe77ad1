// What the loss and the gradients of tests/data/fixtures/*.lora.safetensors are when nothing is rounded: the CPU's training
// in double on the same f32 weights, whose gradients agree with central differences to 2e-8. The expected values in the
// fixtures are another program's in f32, with roundings of their own.
#pragma once

#include <array>
#include <cmath>
#include <span>
#include <string_view>

#include "lora/adapter.h"
#include "sample/random.h"

namespace lapidary::testing {

struct ExactGradients {
    std::string_view name;
    double loss;
    double norm;  // of all gradients together, each update's dA and then its dB
    // Their inner products with random numbers between −1 and 1: the same sums of other gradients tell how far those are.
    std::array<double, 16> along;
};

inline constexpr std::array<ExactGradients, 4> kExactGradients = {{
    {"tiny-e2b-q4km",
     7.06247882748,
     10.3028998877,
     {-2.81063295485, 3.88310657257, 6.06682109948, 13.7892501343, 3.63164529141, 4.07116309704, 9.12267862979,
      3.02480905572, -0.543025678407, -7.86229624729, -5.72352372771, 2.24069771965, -1.47265550154, 4.53851643947,
      5.14931657587, -4.38721351283}},
    {"tiny-e2b-q4_0",
     6.85678978623,
     0.313641710159,
     {-0.16874427287, -0.177833459332, 0.142878996691, 0.0173149512991, 0.100264681585, -0.1352813629, 0.00868404477843,
      -0.200669370757, -0.112319504021, 0.16960089663, -0.0420058199579, -0.00408335835308, -0.170344693834,
      0.236466119083, 0.0516199021099, 0.144387910338}},
    {"tiny-31b-q4km",
     8.75641158508,
     14.8524248802,
     {-3.97907050805, 4.95409849319, 9.76758604944, 12.0900988409, -5.02931787765, 13.3785255895, 13.987858709,
      -14.5693155878, 8.22002400592, -2.05283305841, -2.78242577444, -0.284094070035, -4.5490871458, -6.42881127326,
      -10.1509464183, -8.34873824655}},
    {"tiny-moe-q4km",
     11.8775292148,
     2.96453056569,
     {-0.556353648421, -1.05746356016, 0.278590027169, 0.651860808554, -0.0372587581122, -3.18327220998, -1.72761602083,
      0.236628813683, -0.936548860746, -2.76152179126, 0.40157262443, -1.70890318151, -0.620261615657, -4.97273183903,
      -1.65009889617, -1.7053761009}},
}};

inline const ExactGradients* exact_gradients(std::string_view name) {
    for (const ExactGradients& exact : kExactGradients) {
        if (exact.name == name) return &exact;
    }
    return nullptr;
}

// |gradients − exact| / |exact|, to about a fifth of itself: each sum sees a third of the difference's square on average.
inline double distance_from(const ExactGradients& exact, std::span<const lora::Update> gradients) {
    double squares = 0;
    for (size_t seed = 0; seed < exact.along.size(); ++seed) {
        uint32_t drawn = 0;
        double sum = 0;
        for (const lora::Update& update : gradients) {
            for (const auto* part : {&update.a, &update.b}) {
                for (const float g : *part) sum += double(g) * (2 * double(sample::uniform(seed, drawn++)) - 1);
            }
        }
        squares += std::pow(sum - exact.along[seed], 2);
    }
    return std::sqrt(3 * squares / double(exact.along.size())) / exact.norm;
}

}  // namespace lapidary::testing
