#include "kernels/check/norms.h"

#include <cmath>

namespace lapidary::kernels::check {
namespace {

constexpr double kRevolution = 2 * 3.14159265358979323846;

// Radians a position.
double frequency(uint32_t dim, uint32_t pair) {
    return 4 * pair >= 3 * dim / 2 ? 0 : std::pow(10'000.0, -2.0 * pair / dim);
}

void rotate(std::vector<double>& x, double position) {
    const auto dim = uint32_t(x.size());
    for (uint32_t i = 0; i < dim / 2; ++i) {
        const double angle = position * frequency(dim, i);
        const double a = x[i];
        const double b = x[i + dim / 2];
        x[i] = a * std::cos(angle) - b * std::sin(angle);
        x[i + dim / 2] = a * std::sin(angle) + b * std::cos(angle);
    }
}

}  // namespace

std::vector<double> rms_norm(std::span<const double> x, std::span<const float> w) {
    double sum = 0;
    for (const double v : x) sum += v * v;
    std::vector<double> y(x.size());
    for (size_t i = 0; i < x.size(); ++i) {
        y[i] = x[i] / std::sqrt(sum / double(x.size()) + kEps) * (w.empty() ? 1.0 : double(w[i]));
    }
    return y;
}

std::vector<double> rms_norm(std::span<const float> x, std::span<const float> w) {
    return rms_norm(std::vector<double>(x.begin(), x.end()), w);
}

std::vector<double> rms_norm_back(std::span<const float> x, std::span<const float> w, std::span<const double> dy) {
    const auto n = double(x.size());
    double squares = 0;
    double products = 0;
    const auto g = [&](size_t i) { return dy[i] * (w.empty() ? 1.0 : double(w[i])); };
    for (size_t i = 0; i < x.size(); ++i) {
        squares += double(x[i]) * double(x[i]);
        products += double(x[i]) * g(i);
    }
    const double r = 1 / std::sqrt(squares / n + kEps);
    std::vector<double> dx(x.size());
    for (size_t i = 0; i < x.size(); ++i) dx[i] = r * g(i) - double(x[i]) * r * r * r * products / n;
    return dx;
}

std::vector<double> rms_norm_back(std::span<const float> x, std::span<const float> w, std::span<const float> dy) {
    return rms_norm_back(x, w, std::vector<double>(dy.begin(), dy.end()));
}

void rope(std::vector<double>& x, uint32_t position) {
    rotate(x, position);
}

void rope_back(std::vector<double>& x, uint32_t position) {
    rotate(x, -double(position));
}

std::vector<float> rope_table_of(uint32_t dim, uint32_t position) {
    std::vector<float> out;
    for (uint32_t pair = 0; pair < dim / 2; ++pair) {
        const double angle = position * frequency(dim, pair);
        out.insert(out.end(), {float(std::cos(angle)), float(std::sin(angle))});
    }
    return out;
}

std::vector<float> frequencies_of(uint32_t dim) {
    const auto coarse = [](double value) {
        int exponent = 0;
        const double mantissa = std::frexp(value, &exponent);
        return std::ldexp(std::trunc(std::ldexp(mantissa, 12)), exponent - 12);
    };
    std::vector<float> out;
    for (uint32_t pair = 0; pair < dim / 2; ++pair) {
        const double revolutions = frequency(dim, pair) / kRevolution;
        const double first = coarse(revolutions);
        const double second = coarse(revolutions - first);
        out.insert(out.end(), {float(first), float(second), float(revolutions - first - second), 0.0f});
    }
    return out;
}

}  // namespace lapidary::kernels::check
