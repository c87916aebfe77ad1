#include <algorithm>
#include <cmath>

#include "kernels/check/norms.h"
#include "kernels/check/products.h"
#include "kernels/check/suites.h"
#include "kernels/towers/clipped_gemm.h"
#include "kernels/towers/patch_heads.h"
#include "kernels/towers/softmax_rows.h"

namespace lapidary::kernels::check::tower_cases {
namespace {

constexpr ClipBounds kBounds{.x_low = -0.75f, .x_high = 0.5f, .y_low = -2, .y_high = 1};

// step, w, x, y
std::vector<Array> linear_arrays(const Product& p, Random& random) {
    const Operands operands = operands_of(p, random);
    const std::vector<float> x = random.floats(x_rows(p) * size_t(p.cols));
    std::vector<double> taken;
    for (const float v : x) taken.push_back(double(std::clamp(v, kBounds.x_low, kBounds.x_high)));
    Array y = y_of(p, operands, taken, random);
    for (double& v : y.expected) {
        if (!std::isnan(v)) v = std::clamp(v, double(kBounds.y_low), double(kBounds.y_high));
    }
    return {step(0, p.tokens), given(operands.w.packed), given(x), std::move(y)};
}

Case linear(const Product& p) {
    return {.shape = shape_of(p) + ", clipped",
            .weights = p.type,
            .limit = limit_of(p),
            .launches = {{[p](const Target& target, Tensors t) {
                const Matrix matrix = matrix_of(p, t[1]);
                return ClippedGemm{.w = matrix.w,
                                   .x = t[2],
                                   .y = with_stride(t[3], p.y_stride()),
                                   .out = p.out,
                                   .y_offset = p.y_offset(),
                                   .rows = p.tokens,
                                   .bounds = kBounds}
                    .dispatch(target);
            }}},
            .arrays = [p](Random& random) { return linear_arrays(p, random); }};
}

struct Heads {
    uint32_t heads;
    uint32_t dim;
    uint32_t patches;
    uint32_t columns;
    bool turns = true;
};

// step, norm, frequencies, x, y. The kernel has no step; what a case without a norm does not look at is bound to it.
std::vector<Array> heads_arrays(const Heads& s, Random& random) {
    const std::vector<float> norm = random.floats(s.dim, 0.5f, 1.5f);
    const std::vector<float> x = random.floats(size_t{s.patches} * s.heads * s.dim);
    Array y = written(random, x.size());
    for (size_t at = 0; at < x.size(); at += s.dim) {
        const auto patch = uint32_t(at / (size_t{s.heads} * s.dim));
        const auto in = std::span(x).subspan(at, s.dim);
        const std::vector<double> normed =
            rms_norm(in, s.turns ? std::span<const float>(norm) : std::span<const float>{});
        const size_t half = s.dim / 2;
        for (size_t part = 0; part < 2; ++part) {
            std::vector<double> values(normed.begin() + ptrdiff_t(part * half),
                                       normed.begin() + ptrdiff_t((part + 1) * half));
            if (s.turns) rope(values, part == 0 ? patch % s.columns : patch / s.columns);
            for (size_t i = 0; i < half; ++i) y.expected[at + part * half + i] = values[i];
        }
    }
    return {step(0, s.patches), given(norm), given(frequencies_of(s.dim / 2)), given(x), std::move(y)};
}

Case heads(const Heads& s) {
    return {
        .shape = format("{} heads of {}, {} patches{}", s.heads, s.dim, s.patches, s.turns ? "" : ", not turned"),
        .limit = 1e-5,
        .launches = {launch([s](Tensors t) {
            PatchHeads op{
                .x = t[3], .y = t[4], .heads = s.heads, .head_dim = s.dim, .patches = s.patches, .columns = s.columns};
            if (s.turns) {
                op.norm = t[1];
                op.frequencies = t[2];
            }
            return op;
        })},
        .arrays = [s](Random& random) { return heads_arrays(s, random); }};
}

struct Rows {
    uint32_t rows;
    uint32_t cols;
};

std::vector<Array> rows_arrays(const Rows& s, Random& random) {
    const std::vector<float> before = random.floats(size_t{s.rows} * s.cols, -8, 8);
    Array scores = in_place(before);
    for (size_t first = 0; first < before.size(); first += s.cols) {
        double sum = 0;
        for (size_t i = 0; i < s.cols; ++i) sum += std::exp(double(before[first + i]));
        for (size_t i = 0; i < s.cols; ++i) scores.expected[first + i] = std::exp(double(before[first + i])) / sum;
    }
    return {std::move(scores)};
}

Case rows(const Rows& s) {
    return {
        .shape = format("{} rows of {}", s.rows, s.cols),
        .limit = 1e-5,
        .launches = {launch([s](Tensors t) { return SoftmaxRows{.scores = t[0], .rows = s.rows, .cols = s.cols}; })},
        .arrays = [s](Random& random) { return rows_arrays(s, random); }};
}

}  // namespace

std::vector<Case> clipped_gemm() {
    using enum TensorType;
    return {linear({.type = f16, .cols = 96, .out = 67, .tokens = 65, .strided = true}),
            linear({.type = bf16, .cols = 32, .out = 130, .tokens = 3}),
            linear({.type = q8_0, .cols = 64, .out = 5, .tokens = 17})};
}

std::vector<Case> patch_heads() {
    std::vector<Case> out = {heads({.heads = 3, .dim = 72, .patches = 35, .columns = 7}),
                             heads({.heads = 2, .dim = 24, .patches = 6, .columns = 3}),
                             heads({.heads = 2, .dim = 64, .patches = 5, .columns = 5, .turns = false})};
    out[1].quick = true;
    return out;
}

std::vector<Case> softmax_rows() {
    std::vector<Case> out = {rows({.rows = 5, .cols = 300}), rows({.rows = 1100, .cols = 7})};
    out.front().quick = true;
    return out;
}

}  // namespace lapidary::kernels::check::tower_cases
