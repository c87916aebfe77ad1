#include "kernels/check/products.h"

#include <array>

namespace lapidary::kernels::check {
namespace {

// Σ_i w[i] · x[i]
double dot(std::span<const float> w, std::span<const double> x) {
    double sum = 0;
    for (size_t i = 0; i < w.size(); ++i) sum += double(w[i]) * x[i];
    return sum;
}

double finished(const Product& p, double a, double b, float factor) {
    switch (p.epilogue) {
        case EpilogueKind::store: return a;
        case EpilogueKind::gelu_gate: return gelu(a) * b;
        case EpilogueKind::gelu_times: return gelu(a) * double(factor);
        case EpilogueKind::softcap: return double(kCap) * std::tanh(a / double(kCap));
    }
    return a;
}

}  // namespace

double gelu(double x) {
    return 0.5 * x * (1 + std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
}

std::string shape_of(const Product& p) {
    static constexpr std::array<std::string_view, 4> kEpilogues = {"", ", gelu_gate", ", gelu_times_aux", ", softcap"};
    std::string out = format("{} × {}, {} tokens", p.out, p.cols, p.tokens);
    out += kEpilogues[size_t(p.epilogue)];
    if (p.experts > 0) out += format(", {} of {} experts", p.slots, p.experts);
    if (p.x_per_slot) out += ", x per slot";
    if (p.strided) out += ", strided";
    if (p.below) out += format(", the last {} in {}", p.below_rows, tensor_type_name(*p.below));
    return out;
}

Matrix matrix_of(const Product& p, const gpu::Tensor& array) {
    const auto rows_at = [&](TensorType type, gpu::Binding binding, uint64_t rows) {
        return Weights{
            .format = format_of(type), .cols = p.cols, .rows = rows, .pieces = {{.binding = binding, .rows = rows}}};
    };
    const uint64_t rows = std::max(p.experts, 1u) * p.w_rows() - p.below_rows;
    Matrix out{.w = rows_at(p.type, array.at, rows), .below = std::nullopt};
    if (p.below) {
        const Format format = format_of(*p.below);
        const uint64_t at = second_row_at(out.w.format, rows, format, p.cols) * gpu_bytes(format, 1, p.cols);
        out.below = rows_at(*p.below, {array.at.buffer, at, array.at.size - at}, p.below_rows);
    }
    return out;
}

Epilogue epilogue_of(const Product& p, const gpu::Tensor& factors) {
    switch (p.epilogue) {
        case EpilogueKind::store: break;
        case EpilogueKind::gelu_gate: return GeluGate{};
        case EpilogueKind::gelu_times:
            return GeluTimes{.factors = with_stride(factors, p.factor_stride()), .offset = p.factor_offset()};
        case EpilogueKind::softcap: return SoftcapBy{.cap = kCap};
    }
    return Store{};
}

namespace {

void put_below(RandomWeights& w, const RandomWeights& below, const Product& p) {
    const uint64_t rows = second_row_at(format_of(p.type), p.w_rows() - p.below_rows, format_of(*p.below), p.cols);
    w.packed.resize(size_t(rows * gpu_bytes(format_of(*p.below), 1, p.cols)));
    w.packed.insert(w.packed.end(), below.packed.begin(), below.packed.end());
    w.values.insert(w.values.end(), below.values.begin(), below.values.end());
}

}  // namespace

Operands operands_of(const Product& p, Random& random) {
    const uint32_t matrices = std::max(p.experts, 1u);
    Operands out{.w = random_weights(random, p.type, matrices * p.w_rows() - p.below_rows, p.cols),
                 .factors = random.floats(size_t(p.tokens * p.factor_stride())),
                 .chosen = std::vector<uint32_t>(size_t(p.tokens) * p.slots)};
    for (uint32_t& expert : out.chosen) expert = random.below(matrices);
    if (p.below) put_below(out.w, random_weights(random, *p.below, p.below_rows, p.cols), p);
    return out;
}

Array Operands::aux(const Product& p) const {
    return p.epilogue == EpilogueKind::gelu_times ? given(factors) : given(chosen);
}

std::vector<double> results_of(const Product& p, const Operands& operands, std::span<const double> x) {
    const auto w_row = [&](uint64_t matrix, uint64_t row) {
        return std::span(operands.w.values).subspan(size_t((matrix * p.w_rows() + row) * p.cols), size_t(p.cols));
    };
    std::vector<double> out;
    for (uint64_t slot = 0; slot < uint64_t{p.tokens} * p.slots; ++slot) {
        const uint64_t token = slot / p.slots;
        const auto in = x.subspan(size_t((p.x_per_slot ? slot : token) * p.cols), size_t(p.cols));
        const uint64_t matrix = p.experts > 0 ? operands.chosen[size_t(slot)] : 0;
        for (uint64_t r = 0; r < p.out; ++r) {
            const double a = dot(w_row(matrix, r), in);
            const double b = p.epilogue == EpilogueKind::gelu_gate ? dot(w_row(matrix, p.out + r), in) : 0;
            const float factor = operands.factors[size_t(token * p.factor_stride() + p.factor_offset() + r)];
            out.push_back(finished(p, a, b, factor));
        }
    }
    return out;
}

Array y_of(const Product& p, const Operands& operands, std::span<const double> x, Random& random) {
    const std::vector<double> results = results_of(p, operands, x);
    Array y = written(random, size_t(p.tokens * p.slots * p.y_stride()));
    for (size_t i = 0; i < results.size(); ++i) {
        y.expected[size_t(i / p.out * p.y_stride() + p.y_offset() + i % p.out)] = results[i];
    }
    return y;
}

}  // namespace lapidary::kernels::check
