#include "reference/ops.h"

#include <algorithm>
#include <cmath>

#include "quant/dot.h"

namespace lapidary::reference {

using quant::dot;

namespace {

// Of an angle of up to some millions. The C library's own carry a table for angles of any size, and `pow` another, which
// nobody here needs and everybody would download.
struct Turn {
    double cosine;
    double sine;
};

Turn turn_by(double angle) {
    // Quarter turns off, with π/2 in three parts so that what is left is exact to the last bits.
    const double quarters = std::nearbyint(angle * 0.63661977236758134308);
    const double r = ((angle - quarters * 1.57079632673412561417e+00) - quarters * 6.07710050630396597660e-11) -
                     quarters * 2.02226624879595063154e-21;
    const double z = r * r;
    double sine = 1;
    double cosine = 1;
    for (int n = 18; n > 0; n -= 2) {  // the series, from their smallest terms
        sine = 1 - sine * z / double(n * (n + 1));
        cosine = 1 - cosine * z / double(n * (n - 1));
    }
    sine *= r;
    switch (int64_t(quarters) & 3) {
        case 0: return {cosine, sine};
        case 1: return {-sine, cosine};
        case 2: return {-cosine, -sine};
        default: return {sine, -cosine};
    }
}

}  // namespace

void rms_norm(std::span<const float> x, std::span<const float> w, uint32_t n, float eps, std::span<float> y) {
    for (size_t row = 0; row < x.size() / n; ++row) {
        const auto in = x.subspan(row * n, n);
        const auto out = y.subspan(row * n, n);
        const float scale = 1.0f / std::sqrt(dot(in, in) / float(n) + eps);
        for (size_t i = 0; i < n; ++i) out[i] = in[i] * scale * (w.empty() ? 1.0f : w[i]);
    }
}

void add_rms_norm(std::span<const float> x, std::span<const float> w, float eps, std::span<float> y) {
    std::vector<float> normed(x.size());
    rms_norm(x, w, uint32_t(w.size()), eps, normed);
    for (size_t i = 0; i < y.size(); ++i) y[i] += normed[i];
}

float gelu(float x) {
    constexpr float kSqrt2OverPi = 0.7978845608028654f;
    return 0.5f * x * (1.0f + std::tanh(kSqrt2OverPi * (x + 0.044715f * x * x * x)));
}

void gelu_gate(std::span<float> gate, std::span<const float> up) {
    for (size_t i = 0; i < gate.size(); ++i) gate[i] = gelu(gate[i]) * up[i];
}

void rope(std::span<float> x, uint32_t head_dim, uint32_t position, std::span<const double> inverse_frequencies) {
    const uint32_t half = head_dim / 2;
    for (uint32_t i = 0; i < half; ++i) {
        // Angles in double: at position 100,000 a float angle is already wrong in the third decimal.
        const double angle = double(position) * inverse_frequencies[i];
        const Turn turn = turn_by(angle);
        const auto cosine = float(turn.cosine);
        const auto sine = float(turn.sine);
        for (size_t head = 0; head < x.size(); head += head_dim) {
            const float a = x[head + i];
            const float b = x[head + i + half];
            x[head + i] = a * cosine - b * sine;
            x[head + i + half] = a * sine + b * cosine;
        }
    }
}

std::vector<double> rope_frequencies(uint32_t head_dim, double base, std::span<const float> divisors) {
    std::vector<double> out(head_dim / 2);
    for (size_t i = 0; i < out.size(); ++i) {
        out[i] =
            std::exp(std::log(base) * -2.0 * double(i) / head_dim) / (divisors.empty() ? 1.0 : double(divisors[i]));
    }
    return out;
}

std::vector<float> default_rope_divisors(uint32_t head_dim, float fraction, float factor) {
    std::vector<float> divisors(head_dim / 2, 1e30f);
    std::fill_n(divisors.begin(), size_t(float(head_dim) * fraction / 2), factor);
    return divisors;
}

void softmax(std::span<float> x) {
    const float largest = *std::ranges::max_element(x);
    float sum = 0;
    for (float& v : x) {
        v = std::exp(v - largest);
        sum += v;
    }
    for (float& v : x) v /= sum;
}

std::vector<uint32_t> largest(std::span<const float> p, uint32_t count) {
    std::vector<bool> taken(p.size());
    for (size_t i = 0; i < std::min<size_t>(count, p.size()); ++i) {
        size_t best = p.size();
        for (size_t j = 0; j < p.size(); ++j) {
            if (!taken[j] && (best == p.size() || p[j] > p[best])) best = j;
        }
        taken[best] = true;
    }
    std::vector<uint32_t> out;
    for (uint32_t j = 0; j < p.size(); ++j) {
        if (taken[j]) out.push_back(j);
    }
    return out;
}

void attention(const AttentionShape& shape, std::span<const float> q, std::span<const float> keys,
               std::span<const float> values, uint32_t begin, uint32_t end, std::span<float> out) {
    const size_t hd = shape.head_dim;
    const size_t stride = shape.kv_heads * hd;
    std::vector<float> weights(end - begin);
    for (uint32_t head = 0; head < shape.heads; ++head) {
        const size_t kv = head / (shape.heads / shape.kv_heads) * hd;
        const auto query = q.subspan(head * hd, hd);
        for (uint32_t p = begin; p < end; ++p) weights[p - begin] = dot(query, keys.subspan(p * stride + kv, hd));
        softmax(weights);
        const auto result = out.subspan(head * hd, hd);
        std::ranges::fill(result, 0.0f);
        for (uint32_t p = begin; p < end; ++p) {
            const float weight = weights[p - begin];
            const auto value = values.subspan(p * stride + kv, hd);
            for (size_t i = 0; i < hd; ++i) result[i] += weight * value[i];
        }
    }
}

void matmul(const Matrix& w, std::span<const float> x, std::span<float> y) {
    const auto cols = size_t(w.cols);
    const auto rows = size_t(w.rows);
    const size_t tokens = x.size() / cols;
    std::vector<float> row(cols);
    for (size_t r = 0; r < rows; ++r) {
        w.decode_row(r, row);
        for (size_t t = 0; t < tokens; ++t) y[t * rows + r] = dot(row, x.subspan(t * cols, cols));
    }
}

void softcap(std::span<float> x, float cap) {
    if (cap == 0) return;
    for (float& v : x) v = cap * std::tanh(v / cap);
}

}  // namespace lapidary::reference
