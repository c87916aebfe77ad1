#include "kernels/check/products.h"

#include <array>

namespace lapidary::kernels::check {
namespace {

// Σ_i w[i] · x[i]
double dot(std::span<const float> w, std::span<const float> x) {
    double sum = 0;
    for (size_t i = 0; i < w.size(); ++i) sum += double(w[i]) * double(x[i]);
    return sum;
}

double finished(const Product& p, double a, double b, float aux) {
    switch (p.finish) {
        case Finish::plain: return a;
        case Finish::gelu_gate: return gelu(a) * b;
        case Finish::gelu_times_aux: return gelu(a) * double(aux);
        case Finish::softcap: return double(kCap) * std::tanh(a / double(kCap));
    }
    return a;
}

}  // namespace

double gelu(double x) {
    return 0.5 * x * (1 + std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
}

std::string shape_of(const Product& p) {
    static constexpr std::array<std::string_view, 4> kFinishes = {"", ", gelu_gate", ", gelu_times_aux", ", softcap"};
    std::string out = format("{} × {}, {} tokens", p.out, p.cols, p.tokens);
    out += kFinishes[size_t(p.finish)];
    if (p.experts > 0) out += format(", {} of {} experts", p.slots, p.experts);
    if (p.x_per_slot) out += ", x per slot";
    if (p.strided) out += ", strided";
    return out;
}

std::vector<gpu::Constant> constants_of(const Product& p) {
    std::vector<gpu::Constant> out = {
        {"kCols", double(p.cols)}, {"kOut", double(p.out)}, {"kFinish", double(p.finish)}};
    if (p.strided) {
        out.push_back({"kYStride", double(p.y_stride())});
        out.push_back({"kYOffset", double(p.y_offset())});
    }
    if (p.finish == Finish::gelu_times_aux) {
        out.push_back({"kAuxStride", double(p.aux_stride())});
        out.push_back({"kAuxOffset", double(p.aux_offset())});
    }
    if (p.finish == Finish::softcap) out.push_back({"kCap", double(kCap)});
    return out;
}

std::vector<Array> arrays_of(const Product& p, Random& random) {
    const uint64_t matrices = std::max(p.experts, 1u);
    const Weights w = random_weights(random, p.type, matrices * p.w_rows(), p.cols);
    // [tokens (· slots), cols]
    const std::vector<float> x = random.floats(size_t(p.tokens * (p.x_per_slot ? p.slots : 1) * p.cols));
    const std::vector<float> factors = random.floats(size_t(p.tokens * p.aux_stride()));
    std::vector<uint32_t> chosen(size_t(p.tokens) * p.slots);  // [tokens, slots]
    for (uint32_t& expert : chosen) expert = random.below(uint32_t(matrices));
    Array y = written(random, size_t(p.tokens * p.slots * p.y_stride()));

    const auto w_row = [&](uint64_t matrix, uint64_t row) {
        return std::span(w.values).subspan(size_t((matrix * p.w_rows() + row) * p.cols), size_t(p.cols));
    };
    for (uint64_t t = 0; t < p.tokens; ++t) {
        for (uint64_t s = 0; s < p.slots; ++s) {
            const uint64_t slot = t * p.slots + s;
            const uint64_t x_row = p.x_per_slot ? slot : t;
            const auto in = std::span(x).subspan(size_t(x_row * p.cols), size_t(p.cols));
            const uint64_t matrix = p.experts > 0 ? chosen[size_t(slot)] : 0;
            for (uint64_t r = 0; r < p.out; ++r) {
                const double a = dot(w_row(matrix, r), in);
                const double b = p.finish == Finish::gelu_gate ? dot(w_row(matrix, p.out + r), in) : 0;
                const float factor = factors[size_t(t * p.aux_stride() + (p.aux_offset() + r) % p.aux_stride())];
                y.expected[size_t(slot * p.y_stride() + p.y_offset() + r)] = finished(p, a, b, factor);
            }
        }
    }
    const bool has_factors = p.finish == Finish::gelu_times_aux;
    return {step(0, p.tokens), given(w.packed), given(x), has_factors ? given(factors) : given(chosen), std::move(y)};
}

}  // namespace lapidary::kernels::check
