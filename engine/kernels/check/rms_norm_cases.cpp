#include "kernels/check/norms.h"
#include "kernels/check/suites.h"
#include "kernels/train/rms_norm.h"

namespace lapidary::kernels::check::rms_norm_cases {
namespace {

struct Shape {
    uint32_t n;
    uint32_t tokens;
    bool add;
};
constexpr float kScale = 0.75f;

std::vector<float> weights_of(const Shape& s, Random& random) {
    std::vector<float> w = random.floats(s.n, 0.5f, 1.5f);
    w.push_back(kScale);
    return w;
}

// step, base, x, w, y
std::vector<Array> norm_arrays(const Shape& s, Random& random) {
    const std::vector<float> base = random.floats(size_t(s.tokens) * s.n);
    const std::vector<float> x = random.floats(size_t(s.tokens) * s.n, -3, 3);
    const std::vector<float> w = weights_of(s, random);
    Array y = written(random, x.size());
    for (size_t t = 0; t < s.tokens; ++t) {
        const std::vector<double> normed = check::rms_norm(std::span(x).subspan(t * s.n, s.n), std::span(w).first(s.n));
        for (size_t i = 0; i < s.n; ++i) {
            const double before = s.add ? double(base[t * s.n + i]) : 0;
            y.expected[t * s.n + i] = (before + normed[i]) * double(kScale);
        }
    }
    return {step(0, s.tokens), given(base), given(x), given(w), std::move(y)};
}

// step, x, w, dy, dx
std::vector<Array> back_arrays(const Shape& s, Random& random) {
    const std::vector<float> x = random.floats(size_t(s.tokens) * s.n, -3, 3);
    const std::vector<float> w = weights_of(s, random);
    const std::vector<float> dy = random.floats(x.size());
    const std::vector<float> before = random.floats(x.size());
    Array dx = in_place(before);
    for (size_t t = 0; t < s.tokens; ++t) {
        const auto row = std::span(x).subspan(t * s.n, s.n);
        const std::vector<double> back =
            rms_norm_back(row, std::span(w).first(s.n), std::span(dy).subspan(t * s.n, s.n));
        for (size_t i = 0; i < s.n; ++i) {
            const double old = s.add ? double(before[t * s.n + i]) : 0;
            dx.expected[t * s.n + i] = (old + back[i]) * double(kScale);
        }
    }
    return {step(0, s.tokens), given(x), given(w), given(dy), std::move(dx)};
}

Launch norm(const Shape& s) {
    return launch([s](Tensors t) {
        return RmsNorm{.base = s.add ? t[1] : gpu::Tensor(),
                       .x = t[2],
                       .weights = t[3],
                       .y = t[4],
                       .cols = s.n,
                       .rows = s.tokens + 1};
    });
}

Launch norm_back(const Shape& s) {
    return launch([s](Tensors t) {
        return RmsNormBackward{
            .x = t[1], .weights = t[2], .dy = t[3], .dx = t[4], .add = s.add, .cols = s.n, .rows = s.tokens + 1};
    });
}

std::vector<Case> cases_of(Launch (*launch)(const Shape&), std::vector<Array> (*arrays)(const Shape&, Random&)) {
    std::vector<Case> out;
    for (const Shape& s : {Shape{.n = 417, .tokens = 3, .add = true}, Shape{.n = 1536, .tokens = 17, .add = false},
                           Shape{.n = 2, .tokens = 1, .add = false}}) {
        out.push_back({.shape = format("{} wide, {} tokens{}", s.n, s.tokens, s.add ? ", added" : ""),
                       // What is left of a gradient by two numbers after the part along x is gone may be very little.
                       .limit = s.n > 2 ? 3e-6 : 1e-5,
                       .launches = {launch(s)},
                       .arrays = [s, arrays](Random& random) { return arrays(s, random); }});
    }
    out.front().quick = true;
    return out;
}

}  // namespace

std::vector<Case> rms_norm() {
    return cases_of(norm, norm_arrays);
}

std::vector<Case> rms_norm_backward() {
    return cases_of(norm_back, back_arrays);
}

}  // namespace lapidary::kernels::check::rms_norm_cases
