#include <algorithm>
#include <cmath>

#include "reference/ops.h"
#include "train/cpu_pass.h"
#include "train/ops.h"

namespace lapidary::train {
namespace {

// The logits that exist at a time: a group of positions that count, never all of a long sequence.
constexpr size_t kLogitBytes = size_t{16} << 20;

// logits: [vocabulary], as the head gives them; becomes the gradient of weight · cross entropy / divisor, which is
// returned without the divisor.
double cross_entropy(std::span<float> logits, int32_t target, float cap, double weight, double divisor) {
    reference::softcap(logits, cap);
    const float largest = *std::ranges::max_element(logits);
    double sum = 0;
    for (const float logit : logits) sum += double(std::exp(logit - largest));
    const double loss = weight * (double(largest) + std::log(sum) - double(logits[size_t(target)]));
    const auto factor = float(weight / divisor);
    const auto inverse = float(1 / sum);
    for (size_t i = 0; i < logits.size(); ++i) {
        const float tanh = cap == 0 ? 0 : logits[i] / cap;
        const float p = std::exp(logits[i] - largest) * inverse - (i == size_t(target) ? 1.0f : 0.0f);
        logits[i] = factor * p * (1 - tanh * tanh);
    }
    return loss;
}

}  // namespace

Task<Result<double>> CpuPass::loss(std::span<const float> h, double divisor, std::span<float> dh,
                                   const Breathe& breathe) {
    const size_t d = config_.width;
    const reference::Matrix head = model_.weights->matrix(model_.table->head());
    const auto vocabulary = size_t(head.rows);
    std::vector<size_t> counted;
    for (size_t t = 0; t + 1 < sequence_.tokens.size(); ++t) {
        if (sequence_.weights[t] != 0) counted.push_back(t);
    }
    const size_t group = std::max<size_t>(4, kLogitBytes / (vocabulary * sizeof(float)));
    double total = 0;
    for (size_t first = 0; first < counted.size(); first += group) {
        const auto rows = std::span(counted).subspan(first, std::min(group, counted.size() - first));
        std::vector<float> in;  // [rows, d]
        in.reserve(rows.size() * d);
        for (const size_t t : rows)
            in.insert(in.end(), h.begin() + ptrdiff_t(t * d), h.begin() + ptrdiff_t((t + 1) * d));
        std::vector<float> logits(rows.size() * vocabulary);
        product(head, normed(in, model_.small.output_norm, config_.width), logits);
        for (size_t i = 0; i < rows.size(); ++i) {
            total += cross_entropy(std::span(logits).subspan(i * vocabulary, vocabulary), sequence_.tokens[rows[i] + 1],
                                   config_.logit_softcap, double(sequence_.weights[rows[i]]), divisor);
        }
        if (!dh.empty()) {
            std::vector<float> dnormed(in.size());
            add_product_backward(head, logits, dnormed);
            std::vector<float> din(in.size());
            norm_backward(in, model_.small.output_norm, config_.width, dnormed, din);
            for (size_t i = 0; i < rows.size(); ++i) {
                std::copy_n(din.begin() + ptrdiff_t(i * d), d, dh.begin() + ptrdiff_t(rows[i] * d));
            }
        }
        if (breathe) CO_TRY(co_await breathe());
    }
    co_return total;
}

}  // namespace lapidary::train
