#include "train/ops.h"

#include <algorithm>
#include <cmath>

#include "quant/dot.h"

namespace lapidary::train {

using quant::dot;

void rms_norm_backward(std::span<const float> x, std::span<const float> w, uint32_t n, float eps,
                       std::span<const float> dy, std::span<float> dx) {
    std::vector<float> g(n);
    for (size_t row = 0; row < x.size() / n; ++row) {
        const auto in = x.subspan(row * n, n);
        const auto out = dx.subspan(row * n, n);
        for (size_t i = 0; i < n; ++i) g[i] = dy[row * n + i] * (w.empty() ? 1.0f : w[i]);
        const float r = 1.0f / std::sqrt(dot(in, in) / float(n) + eps);
        const float along = dot(g, in) / float(n) * r * r * r;
        for (size_t i = 0; i < n; ++i) out[i] += r * g[i] - in[i] * along;
    }
}

void rope_backward(std::span<float> dy, uint32_t head_dim, uint32_t position,
                   std::span<const double> inverse_frequencies) {
    const uint32_t half = head_dim / 2;
    for (uint32_t i = 0; i < half; ++i) {
        const double angle = double(position) * inverse_frequencies[i];
        const auto cosine = float(std::cos(angle));
        const auto sine = float(std::sin(angle));
        for (size_t head = 0; head < dy.size(); head += head_dim) {
            const float a = dy[head + i];
            const float b = dy[head + i + half];
            dy[head + i] = a * cosine + b * sine;
            dy[head + i + half] = b * cosine - a * sine;
        }
    }
}

float gelu_derivative(float x) {
    constexpr float kSqrt2OverPi = 0.7978845608028654f;
    const float t = std::tanh(kSqrt2OverPi * (x + 0.044715f * x * x * x));
    return 0.5f * (1.0f + t) + 0.5f * x * (1.0f - t * t) * kSqrt2OverPi * (1.0f + 3 * 0.044715f * x * x);
}

void gelu_gate_backward(std::span<const float> gate, std::span<const float> up, std::span<const float> dy,
                        std::span<float> dgate, std::span<float> dup) {
    for (size_t i = 0; i < gate.size(); ++i) {
        dgate[i] += gelu_derivative(gate[i]) * up[i] * dy[i];
        if (!dup.empty()) dup[i] += reference::gelu(gate[i]) * dy[i];
    }
}

void softmax_backward(std::span<const float> p, std::span<float> dp) {
    const float mean = dot(p, dp);
    for (size_t i = 0; i < p.size(); ++i) dp[i] = p[i] * (dp[i] - mean);
}

void attention_backward(const reference::AttentionShape& shape, std::span<const float> q, std::span<const float> keys,
                        std::span<const float> values, uint32_t begin, uint32_t end, std::span<const float> dout,
                        std::span<float> dq, std::span<float> dkeys, std::span<float> dvalues) {
    const size_t hd = shape.head_dim;
    const size_t stride = shape.kv_heads * hd;
    std::vector<float> p(end - begin);
    std::vector<float> dp(end - begin);
    for (uint32_t head = 0; head < shape.heads; ++head) {
        const size_t kv = head / (shape.heads / shape.kv_heads) * hd;
        const auto query = q.subspan(head * hd, hd);
        const auto result = dout.subspan(head * hd, hd);
        const auto dquery = dq.subspan(head * hd, hd);
        for (uint32_t at = begin; at < end; ++at) p[at - begin] = dot(query, keys.subspan(at * stride + kv, hd));
        reference::softmax(p);
        for (uint32_t at = begin; at < end; ++at) {
            dp[at - begin] = dot(result, values.subspan(at * stride + kv, hd));
            const auto dvalue = dvalues.subspan(at * stride + kv, hd);
            for (size_t i = 0; i < hd; ++i) dvalue[i] += p[at - begin] * result[i];
        }
        softmax_backward(p, dp);
        for (uint32_t at = begin; at < end; ++at) {
            const float score = dp[at - begin];
            const auto key = keys.subspan(at * stride + kv, hd);
            const auto dkey = dkeys.subspan(at * stride + kv, hd);
            for (size_t i = 0; i < hd; ++i) {
                dquery[i] += score * key[i];
                dkey[i] += score * query[i];
            }
        }
    }
}

void matmul_backward(const reference::Matrix& w, std::span<const float> dy, std::span<float> dx) {
    const auto cols = size_t(w.cols);
    const auto rows = size_t(w.rows);
    std::vector<float> row(cols);
    for (size_t r = 0; r < rows; ++r) {
        w.decode_row(r, row);
        for (size_t t = 0; t < dy.size() / rows; ++t) {
            for (size_t i = 0; i < cols; ++i) dx[t * cols + i] += row[i] * dy[t * rows + r];
        }
    }
}

void lora(const LoraShape& shape, std::span<const float> a, std::span<const float> b, std::span<const float> x,
          std::span<float> y) {
    std::vector<float> u(shape.rank);
    for (size_t t = 0; t < x.size() / shape.in; ++t) {
        for (size_t j = 0; j < shape.rank; ++j) {
            u[j] = dot(a.subspan(j * shape.in, shape.in), x.subspan(t * shape.in, shape.in));
        }
        for (size_t o = 0; o < shape.out; ++o) {
            y[t * shape.out + o] += shape.scale * dot(b.subspan(o * shape.rank, shape.rank), u);
        }
    }
}

// With u = A·x and v = Bᵀ·dy: dB += scale · dy uᵀ, dA += scale · v xᵀ, dx += scale · Aᵀ v
void lora_backward(const LoraShape& shape, std::span<const float> a, std::span<const float> b, std::span<const float> x,
                   std::span<const float> dy, std::span<float> da, std::span<float> db, std::span<float> dx) {
    for (size_t t = 0; t < x.size() / shape.in; ++t) {
        const auto in = x.subspan(t * shape.in, shape.in);
        const auto g = dy.subspan(t * shape.out, shape.out);
        for (size_t j = 0; j < shape.rank; ++j) {
            const float u = dot(a.subspan(j * shape.in, shape.in), in);
            float v = 0;
            for (size_t o = 0; o < shape.out; ++o) {
                v += b[o * shape.rank + j] * g[o];
                db[o * shape.rank + j] += shape.scale * g[o] * u;
            }
            for (size_t i = 0; i < shape.in; ++i) {
                da[j * shape.in + i] += shape.scale * v * in[i];
                dx[t * shape.in + i] += shape.scale * v * a[j * shape.in + i];
            }
        }
    }
}

double head_loss(const reference::Matrix& head, std::span<const float> x, std::span<const int32_t> targets,
                 std::span<const float> weights, float cap, uint32_t tile, double divisor, std::span<float> dx) {
    const auto d = size_t(head.cols);
    const auto capped = [&](float v) { return cap == 0 ? v : cap * std::tanh(v / cap); };
    double loss = 0;
    for (size_t t = 0; t < targets.size(); ++t) {
        const auto in = x.subspan(t * d, d);
        float largest = -INFINITY;
        double sum = 0;
        double wanted = 0;
        for (uint64_t first = 0; first < head.rows; first += tile) {
            const reference::Matrix rows = head.slice(first, std::min<uint64_t>(tile, head.rows - first));
            std::vector<float> logits(size_t(rows.rows));
            reference::matmul(rows, in, logits);
            for (size_t i = 0; i < logits.size(); ++i) {
                const float logit = capped(logits[i]);
                if (first + i == uint64_t(targets[t])) wanted = double(logit);
                // The sum so far was relative to a smaller largest.
                if (logit > largest) sum *= std::exp(double(std::exchange(largest, logit)) - double(logit));
                sum += std::exp(double(logit) - double(largest));
            }
        }
        loss += double(weights[t]) * (double(largest) + std::log(sum) - wanted);
        for (uint64_t first = 0; first < head.rows; first += tile) {
            const reference::Matrix rows = head.slice(first, std::min<uint64_t>(tile, head.rows - first));
            std::vector<float> logits(size_t(rows.rows));
            reference::matmul(rows, in, logits);
            for (size_t i = 0; i < logits.size(); ++i) {
                const float logit = capped(logits[i]);
                const double p = std::exp(double(logit) - double(largest)) / sum;
                const double dlogit = double(weights[t]) / divisor * (p - (first + i == uint64_t(targets[t]) ? 1 : 0));
                const double slope = cap == 0 ? 1 : 1 - double(logit / cap) * double(logit / cap);
                logits[i] = float(dlogit * slope);
            }
            matmul_backward(rows, logits, dx.subspan(t * d, d));
        }
    }
    return loss;
}

// share_i = p_i / S, so dp_i = (dshare_i − Σ_j dshare_j·share_j) / S for the chosen and 0 for the others.
void route_backward(std::span<const float> p, std::span<const uint32_t> chosen, std::span<const float> dshare,
                    std::span<float> dlogits) {
    float sum = 0;
    for (const uint32_t e : chosen) sum += p[e];
    float along = 0;
    for (size_t i = 0; i < chosen.size(); ++i) along += dshare[i] * p[chosen[i]] / sum;
    std::vector<float> dp(p.size());
    for (size_t i = 0; i < chosen.size(); ++i) dp[chosen[i]] = (dshare[i] - along) / sum;
    softmax_backward(p, dp);
    for (size_t e = 0; e < p.size(); ++e) dlogits[e] += dp[e];
}

}  // namespace lapidary::train
