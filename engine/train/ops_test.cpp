#include "train/ops.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>

#include "quant/encode.h"
#include "train/test_numbers.h"

namespace lapidary::train {
namespace {

using Doubles = std::vector<double>;

Doubles doubles(std::span<const float> x) {
    return {x.begin(), x.end()};
}

// Central differences in double of loss(x) = Σ dy ⊙ f(x), f being the forward operation said once more in double.
void expect_gradient(std::span<const float> gradient, std::span<const float> at,
                     const std::function<double(const Doubles&)>& loss, const char* what) {
    constexpr double kStep = 1e-5;
    double difference = 0;
    double norm = 0;
    Doubles x = doubles(at);
    for (size_t i = 0; i < x.size(); ++i) {
        const double here = x[i];
        x[i] = here + kStep;
        const double above = loss(x);
        x[i] = here - kStep;
        const double expected = (above - loss(x)) / (2 * kStep);
        x[i] = here;
        difference += std::pow(double(gradient[i]) - expected, 2);
        norm += expected * expected;
    }
    EXPECT_LE(std::sqrt(difference / norm), 2e-6) << what;
    EXPECT_GT(norm, 0) << what;
}

double weighed(const Doubles& y, std::span<const float> dy) {
    double sum = 0;
    for (size_t i = 0; i < y.size(); ++i) sum += y[i] * double(dy[i]);
    return sum;
}

Doubles rms_norm(const Doubles& x, std::span<const float> w, size_t n, double eps) {
    Doubles y(x.size());
    for (size_t row = 0; row < x.size(); row += n) {
        double sum = eps * double(n);
        for (size_t i = 0; i < n; ++i) sum += x[row + i] * x[row + i];
        for (size_t i = 0; i < n; ++i)
            y[row + i] = x[row + i] / std::sqrt(sum / double(n)) * (w.empty() ? 1 : double(w[i]));
    }
    return y;
}

double gelu(double x) {
    return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}

void softmax(std::span<double> x) {
    double sum = 0;
    for (double& v : x) sum += v = std::exp(v);
    for (double& v : x) v /= sum;
}

// [t, rows] from [t, cols]
Doubles matmul(const Doubles& w, const Doubles& x, size_t cols) {
    const size_t rows = w.size() / cols;
    Doubles y(x.size() / cols * rows);
    for (size_t i = 0; i < y.size(); ++i) {
        for (size_t c = 0; c < cols; ++c) y[i] += w[i % rows * cols + c] * x[i / rows * cols + c];
    }
    return y;
}

TEST(Backward, OfTheNormWithAndWithoutWeights) {
    const auto x = numbers(3 * 10, 1);
    const auto dy = numbers(3 * 10, 2);
    for (const auto& w : {numbers(10, 3), std::vector<float>{}}) {
        std::vector<float> dx(x.size());
        rms_norm_backward(x, w, 10, 1e-2f, dy, dx);
        expect_gradient(dx, x, [&](const Doubles& at) { return weighed(rms_norm(at, w, 10, double(1e-2f)), dy); }, "x");
    }
}

TEST(Backward, OfRopeTurnsBack) {
    const std::vector<double> frequencies = {1, 0.3, 0};
    const auto x = numbers(12, 4);
    std::vector<float> turned = x;
    reference::rope(turned, 6, 17, frequencies);
    rope_backward(turned, 6, 17, frequencies);
    for (size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(turned[i], x[i], 1e-6);  // a rotation's transpose is its inverse
}

TEST(Backward, OfTheGeluGate) {
    auto gate = numbers(20, 5);
    for (float& v : gate) v *= 4;
    const auto up = numbers(20, 6);
    const auto dy = numbers(20, 7);
    const auto forward = [&](const Doubles& g, const Doubles& u) {
        Doubles y(g.size());
        for (size_t i = 0; i < g.size(); ++i) y[i] = gelu(g[i]) * u[i];
        return weighed(y, dy);
    };
    std::vector<float> dgate(20);
    std::vector<float> dup(20);
    gelu_gate_backward(gate, up, dy, dgate, dup);
    expect_gradient(dgate, gate, [&](const Doubles& at) { return forward(at, doubles(up)); }, "gate");
    expect_gradient(dup, up, [&](const Doubles& at) { return forward(doubles(gate), at); }, "up");
    std::vector<float> alone(20);
    gelu_gate_backward(gate, up, dy, alone, {});
    EXPECT_EQ(alone, dgate);
}

TEST(Backward, OfAttentionSeesOnlyWhatIsInSight) {
    constexpr size_t kPositions = 6;
    constexpr size_t kHeads = 4;
    constexpr size_t kDim = 4;
    constexpr size_t kStride = 2 * kDim;
    constexpr uint32_t kBegin = 2;
    constexpr uint32_t kEnd = 5;
    const auto q = numbers(kHeads * kDim, 8);
    const auto keys = numbers(kPositions * kStride, 9);
    const auto values = numbers(kPositions * kStride, 10);
    const auto dout = numbers(q.size(), 11);
    const auto forward = [&](const Doubles& query, const Doubles& k, const Doubles& v) {
        Doubles out(query.size());
        for (size_t head = 0; head < kHeads; ++head) {
            const size_t kv = head / 2 * kDim;
            Doubles p(kEnd - kBegin);
            for (size_t at = kBegin; at < kEnd; ++at) {
                for (size_t i = 0; i < kDim; ++i) p[at - kBegin] += query[head * kDim + i] * k[at * kStride + kv + i];
            }
            softmax(p);
            for (size_t at = kBegin; at < kEnd; ++at) {
                for (size_t i = 0; i < kDim; ++i) out[head * kDim + i] += p[at - kBegin] * v[at * kStride + kv + i];
            }
        }
        return weighed(out, dout);
    };
    std::vector<float> dq(q.size());
    std::vector<float> dkeys(keys.size());
    std::vector<float> dvalues(values.size());
    attention_backward({.heads = kHeads, .kv_heads = 2, .head_dim = kDim}, q, keys, values, kBegin, kEnd, dout, dq,
                       dkeys, dvalues);
    const Doubles query = doubles(q);
    const Doubles key = doubles(keys);
    const Doubles value = doubles(values);
    expect_gradient(dq, q, [&](const Doubles& at) { return forward(at, key, value); }, "q");
    expect_gradient(dkeys, keys, [&](const Doubles& at) { return forward(query, at, value); }, "keys");
    expect_gradient(dvalues, values, [&](const Doubles& at) { return forward(query, key, at); }, "values");
    for (size_t i = 0; i < kBegin * kStride; ++i) EXPECT_EQ(dkeys[i], 0);
    for (size_t i = kEnd * kStride; i < keys.size(); ++i) EXPECT_EQ(dvalues[i], 0);
}

TEST(Backward, OfAProductWithAQuantisedMatrix) {
    constexpr size_t kRows = 6;
    constexpr size_t kCols = 64;
    for (const TensorType type : {TensorType::f32, TensorType::q8_0, TensorType::q4_0}) {
        const auto plain = numbers(kRows * kCols, 12);
        std::vector<uint8_t> blocks(size_t(row_bytes(type, kRows * kCols)));
        quant::encode(type, plain, blocks.data());
        const reference::Matrix w{.type = type, .cols = kCols, .rows = kRows, .data = blocks.data()};
        const Doubles decoded = doubles(w.decode());
        const auto x = numbers(3 * kCols, 13);
        const auto dy = numbers(3 * kRows, 14);
        std::vector<float> dx(x.size());
        matmul_backward(w, dy, dx);
        expect_gradient(dx, x, [&](const Doubles& at) { return weighed(matmul(decoded, at, kCols), dy); }, "x");
    }
}

TEST(Backward, OfAnUpdate) {
    const LoraShape shape{.rank = 3, .in = 8, .out = 5, .scale = 1.5f};
    const auto a = numbers(24, 15);
    const auto b = numbers(15, 16);
    const auto x = numbers(4 * 8, 17);
    const auto dy = numbers(4 * 5, 18);
    const auto forward = [&](const Doubles& a_, const Doubles& b_, const Doubles& x_) {
        return double(shape.scale) * weighed(matmul(b_, matmul(a_, x_, 8), 3), dy);
    };
    std::vector<float> y(dy.size());
    lora(shape, a, b, x, y);
    EXPECT_NEAR(weighed(doubles(y), dy), forward(doubles(a), doubles(b), doubles(x)), 1e-5);
    std::vector<float> da(a.size());
    std::vector<float> db(b.size());
    std::vector<float> dx(x.size());
    lora_backward(shape, a, b, x, dy, da, db, dx);
    expect_gradient(da, a, [&](const Doubles& at) { return forward(at, doubles(b), doubles(x)); }, "A");
    expect_gradient(db, b, [&](const Doubles& at) { return forward(doubles(a), at, doubles(x)); }, "B");
    expect_gradient(dx, x, [&](const Doubles& at) { return forward(doubles(a), doubles(b), at); }, "x");
}

TEST(Backward, OfTheLossInTilesOfTheVocabulary) {
    constexpr size_t kVocabulary = 13;
    constexpr size_t kCols = 8;
    auto table = numbers(kVocabulary * kCols, 19);
    for (float& v : table) v *= 3;
    const reference::Matrix head{
        .cols = kCols, .rows = kVocabulary, .data = reinterpret_cast<const uint8_t*>(table.data())};
    const auto x = numbers(3 * kCols, 20);
    const std::vector<int32_t> targets = {4, 12, 0};
    const std::vector<float> weights = {1, 0.5f, 2};
    for (const float cap : {2.0f, 0.0f}) {
        const auto forward = [&](const Doubles& at) {
            Doubles logits = matmul(doubles(table), at, kCols);
            double loss = 0;
            for (size_t t = 0; t < targets.size(); ++t) {
                const auto row = std::span(logits).subspan(t * kVocabulary, kVocabulary);
                for (double& v : row) v = cap == 0 ? v : double(cap) * std::tanh(v / double(cap));
                softmax(row);
                loss -= double(weights[t]) * std::log(row[size_t(targets[t])]);
            }
            return loss;
        };
        for (const uint32_t tile : {5u, 1u, 64u}) {
            std::vector<float> dx(x.size());
            EXPECT_NEAR(head_loss(head, x, targets, weights, cap, tile, 3.5, dx), forward(doubles(x)), 1e-5);
            expect_gradient(dx, x, [&](const Doubles& at) { return forward(at) / 3.5; }, "x");
        }
    }
}

TEST(Backward, OfTheRouterGoesThroughTheSharesButNotTheChoice) {
    const auto logits = numbers(8, 21);
    const std::vector<uint32_t> chosen = {1, 4, 6};
    const auto dshare = numbers(3, 22);
    std::vector<float> p = logits;
    reference::softmax(p);
    std::vector<float> dlogits(8);
    route_backward(p, chosen, dshare, dlogits);
    expect_gradient(
        dlogits, logits,
        [&](const Doubles& at) {
            Doubles share = at;
            softmax(share);
            double sum = 0;
            for (const uint32_t e : chosen) sum += share[e];
            double loss = 0;
            for (size_t i = 0; i < chosen.size(); ++i) loss += double(dshare[i]) * share[chosen[i]] / sum;
            return loss;
        },
        "logits");
}

}  // namespace
}  // namespace lapidary::train
