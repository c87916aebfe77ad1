#include "kernels/check/products.h"
#include "kernels/check/suites.h"
#include "kernels/train/gelu_gate.h"

namespace lapidary::kernels::check::gelu_gate_cases {
namespace {

struct Shape {
    uint32_t n;
    uint32_t tokens;
    bool paired;

    [[nodiscard]] size_t stride() const { return n + 5; }  // of aux
};
constexpr size_t kOffset = 2;

double slope(double x) {
    const double t = std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x));
    return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * 0.7978845608028654 * (1 + 3 * 0.044715 * x * x);
}

// step, g, aux, y; or step, dy, aux, g
std::vector<Array> arrays_of(const Shape& s, bool back, Random& random) {
    const size_t width = s.paired ? size_t{2} * s.n : s.n;
    const std::vector<float> g = random.floats(s.tokens * width, -4, 4);
    const std::vector<float> aux = random.floats(s.tokens * s.stride());
    const std::vector<float> dy = random.floats(size_t(s.tokens) * s.n);
    Array y = written(random, size_t(s.tokens) * s.n);
    Array dg = in_place(g);
    for (size_t t = 0; t < s.tokens; ++t) {
        for (size_t i = 0; i < s.n; ++i) {
            const size_t at = t * width + i;
            const auto x = double(g[at]);
            const auto other = double(s.paired ? g[at + s.n] : aux[t * s.stride() + kOffset + i]);
            const auto d = double(dy[t * s.n + i]);
            y.expected[t * s.n + i] = gelu(x) * other;
            dg.expected[at] = d * other * slope(x);
            if (s.paired) dg.expected[at + s.n] = d * gelu(x);
        }
    }
    if (back) return {step(0, s.tokens), given(dy), given(aux), std::move(dg)};
    return {step(0, s.tokens), given(g), given(aux), std::move(y)};
}

// Forwards or back: (g, y) or (dy, g).
template <class Op>
Launch gate(const Shape& s) {
    return launch([s](Tensors t) {
        Op op{t[1], t[3]};
        if (!s.paired) op.by = {.factors = with_stride(t[2], s.stride()), .offset = kOffset};
        op.cols = s.n;
        op.rows = s.tokens + 1;
        return op;
    });
}

std::vector<Case> cases_of(Launch (*gate)(const Shape&), bool back) {
    std::vector<Case> out;
    for (const Shape& s :
         {Shape{.n = 257, .tokens = 15, .paired = true}, Shape{.n = 64, .tokens = 3, .paired = false}}) {
        out.push_back({.shape = format("{} wide, {} tokens{}", s.n, s.tokens, s.paired ? ", paired" : ""),
                       .launches = {gate(s)},
                       .arrays = [s, back](Random& random) { return arrays_of(s, back, random); }});
        out.back().quick = true;
    }
    return out;
}

}  // namespace

std::vector<Case> gelu_gate() {
    return cases_of(gate<GeluGateRows>, false);
}

std::vector<Case> gelu_gate_backward() {
    return cases_of(gate<GeluGateBackward>, true);
}

}  // namespace lapidary::kernels::check::gelu_gate_cases
