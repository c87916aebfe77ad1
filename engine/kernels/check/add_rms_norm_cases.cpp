#include <array>

#include "kernels/check/limbs.h"
#include "kernels/check/norms.h"
#include "kernels/check/suites.h"
#include "kernels/norm/add_rms_norm.h"

namespace lapidary::kernels::check::add_rms_norm_cases {
namespace {

struct Shape {
    uint32_t n;
    uint32_t tokens;
    uint32_t add;  // how many inputs are added to h: 0, 1 or 2
    bool next;     // whether a norm of the new h follows
    bool limbs = false;
    uint32_t addends = 1;  // rows that x is the sum of, of one token
};
constexpr float kNextScale = 0.25f;
constexpr float kScale = 0.75f;

std::vector<double> row_of(const std::vector<float>& all, size_t n, size_t row) {
    return {all.begin() + ptrdiff_t(row * n), all.begin() + ptrdiff_t((row + 1) * n)};
}

// step, x, x2, w, h, y
std::vector<Array> arrays_of(const Shape& s, Random& random) {
    const size_t n = s.n;
    const std::vector<float> x = random.floats(std::max(s.tokens, s.addends) * n);
    const std::vector<float> x2 = random.floats(s.tokens * n, -3, 3);
    const std::vector<float> h = random.floats(s.tokens * n, -2, 2);
    // w, w1 and w2 as far as there are inputs, w_next if it follows, then the scale.
    const size_t before = s.add == 2 ? 3 : s.add;
    std::vector<float> w = random.floats((before + (s.next ? 1 : 0)) * n, 0.5f, 1.5f);
    w.push_back(kScale);
    const auto weights = [&](size_t i) { return std::span(w).subspan(i * n, n); };

    Array h_array = s.limbs ? written(random, n) : in_place(h);
    std::vector<double> expected(s.tokens * n);
    for (size_t t = 0; t < s.tokens; ++t) {
        std::vector<double> now = row_of(h, n, t);
        std::vector<double> added = row_of(x, n, t);
        for (size_t addend = 1; addend < s.addends; ++addend) {
            for (size_t i = 0; i < n; ++i) added[i] += double(x[addend * n + i]);
        }
        if (s.add == 2) {
            added = rms_norm(added, weights(1));
            const std::vector<double> second = rms_norm(row_of(x2, n, t), weights(2));
            for (size_t i = 0; i < n; ++i) added[i] += second[i];
        }
        if (s.add > 0) {
            added = rms_norm(added, weights(0));
            for (size_t i = 0; i < n; ++i) now[i] += added[i];
        }
        for (size_t i = 0; i < n; ++i) {
            now[i] *= double(kScale);
            h_array.expected[t * n + i] = now[i];
        }
        if (!s.next) continue;
        const std::vector<double> normed = rms_norm(now, weights(before));
        for (size_t i = 0; i < n; ++i) expected[t * n + i] = normed[i] * double(kNextScale);
    }
    Array y = s.limbs ? limbs_written(random, expected) : written(random, s.tokens * n);
    if (s.next && !s.limbs) y.expected = expected;
    return {step(3, s.tokens), given(x), given(s.limbs ? h : x2), given(w), std::move(h_array), std::move(y)};
}

Case case_of(const Shape& s) {
    const auto op = [s](Tensors t) {
        AddRmsNorm op{
            .h = t[s.limbs ? 2 : 4], .weights = t[3], .cols = s.n, .rows = s.tokens + 1, .next_scale = kNextScale};
        if (s.limbs) op.h_out = t[4];
        if (s.add > 0) op.x = t[1];
        if (s.add > 1) op.x2 = t[2];
        if (s.next) op.y = t[5];
        op.x.addends = s.addends;
        return op;
    };
    return {.launches = {launch(op)}, .arrays = [s](Random& random) { return arrays_of(s, random); }};
}

Case described(const Shape& s) {
    Case out = case_of(s);
    out.shape = format("{} wide, {} tokens, adds {}{}{}{}", s.n, s.tokens, s.add, s.next ? ", then a norm" : "",
                       s.limbs ? " as limbs" : "", s.addends > 1 ? format(", in {} addends", s.addends) : "");
    return out;
}

// The first is what is tried at load.
constexpr auto kShapes = std::to_array<Shape>({
    {.n = 420, .tokens = 3, .add = 0, .next = true},
    {.n = 1536, .tokens = 17, .add = 1, .next = true},
    {.n = 420, .tokens = 2, .add = 2, .next = true},
    {.n = 260, .tokens = 15, .add = 1, .next = false},
    {.n = 4, .tokens = 1, .add = 2, .next = false},
    {.n = 5376, .tokens = 1, .add = 1, .next = true, .limbs = true},
    {.n = 96, .tokens = 1, .add = 0, .next = true, .limbs = true},
    {.n = 8192, .tokens = 1, .add = 1, .next = true, .limbs = true},
    {.n = 5376, .tokens = 1, .add = 1, .next = true, .limbs = true, .addends = 4},
    {.n = 420, .tokens = 1, .add = 1, .next = true, .addends = 3},
});

}  // namespace

std::vector<Case> at_load() {
    return cases_of<Shape>(std::span(kShapes).first(1), case_of, 1);
}

std::vector<Case> all() {
    return cases_of<Shape>(kShapes, described, 3);
}

}  // namespace lapidary::kernels::check::add_rms_norm_cases
