#include "kernels/check/suites.h"
#include "kernels/embed/embed_ops.h"

namespace lapidary::kernels::check::per_layer_inputs_cases {
namespace {

struct Shape {
    uint32_t layers;
    uint32_t p;  // inputs of a layer
    uint32_t tokens;
};
constexpr double kEps = 1e-6;
constexpr float kScale = 0.125f;

// step, context, tokens, w, y: [tokens, layers, p]
std::vector<Array> arrays_of(const Shape& s, Random& random) {
    const size_t rows = size_t(s.tokens) * s.layers;
    const std::vector<float> context = random.floats(rows * s.p);
    const std::vector<float> inputs = random.floats(rows * s.p);
    const std::vector<float> w = random.floats(s.p, 0.5f, 1.5f);
    Array y = written(random, rows * s.p);
    for (size_t row = 0; row < rows; ++row) {
        double sum = 0;
        for (size_t i = row * s.p; i < (row + 1) * s.p; ++i) sum += std::pow(double(kScale) * double(context[i]), 2);
        const double inv_rms = 1 / std::sqrt(sum / s.p + kEps);
        for (size_t i = 0; i < s.p; ++i) {
            const double normed = double(kScale) * double(context[row * s.p + i]) * inv_rms * double(w[i]);
            y.expected[row * s.p + i] = (normed + double(inputs[row * s.p + i])) / std::sqrt(2.0);
        }
    }
    return {step(7, s.tokens), given(context), given(inputs), given(w), std::move(y)};
}

Case per_layer(const Shape& s) {
    return {.shape = format("{} layers of {}, {} tokens", s.layers, s.p, s.tokens),
            .launches = {launch([s](Tensors t) {
                return PerLayerInputs{.context = t[1],
                                      .tokens = t[2],
                                      .norm = t[3],
                                      .y = t[4],
                                      .width = s.p,
                                      .layers = s.layers,
                                      .rows = s.tokens + 1,
                                      .scale = kScale};
            })},
            .arrays = [s](Random& random) { return arrays_of(s, random); }};
}

}  // namespace

std::vector<Case> all() {
    std::vector<Case> out = {per_layer({.layers = 5, .p = 256, .tokens = 3}),
                             per_layer({.layers = 1, .p = 256, .tokens = 1}),
                             per_layer({.layers = 30, .p = 20, .tokens = 17})};
    out.front().quick = true;
    return out;
}

}  // namespace lapidary::kernels::check::per_layer_inputs_cases
