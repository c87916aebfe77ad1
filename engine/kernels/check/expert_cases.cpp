#include "kernels/check/expert_lists.h"
#include "kernels/check/suites.h"
#include "kernels/moe/expert_lists.h"
#include "kernels/train/moe_route_backward.h"

namespace lapidary::kernels::check::expert_cases {
namespace {

struct Shape {
    uint32_t n;
    uint32_t experts;
    uint32_t used;
    uint32_t tokens;
};

// Different experts for each token, and their logits.
std::vector<uint32_t> chosen_by(const Shape& s, Random& random) {
    std::vector<uint32_t> out;
    for (uint32_t t = 0; t < s.tokens; ++t) {
        const uint32_t first = random.below(s.experts);
        for (uint32_t k = 0; k < s.used; ++k) out.push_back((first + 2 * k + k / 3) % s.experts);
    }
    return out;
}

// step, ids, lists
std::vector<Array> list_arrays(const Shape& s, Random& random) {
    const std::vector<uint32_t> chosen = chosen_by(s, random);
    const std::vector<uint32_t> lists = lists_of(chosen, s.experts, s.tokens);
    Array out = written(random, lists.size(), Element::u32);
    for (uint32_t e = 0; e < s.experts; ++e) {
        out.expected[e] = lists[e];
        for (uint32_t i = 0; i < lists[e]; ++i) {
            const size_t at = s.experts + size_t(e) * s.tokens + i;
            out.expected[at] = lists[at];
        }
    }
    return {step(0, s.tokens), given(chosen), std::move(out)};
}

// step, ids, weights, scales, dy, x, logits
std::vector<Array> back_arrays(const Shape& s, Random& random) {
    const std::vector<uint32_t> chosen = chosen_by(s, random);
    const std::vector<float> scales = random.floats(s.experts, 0.5f, 2);
    const std::vector<float> before = random.floats(size_t(s.tokens) * s.experts, -2, 2);
    const std::vector<float> dy = random.floats(size_t(s.tokens) * s.n);
    const std::vector<float> answers = random.floats(chosen.size() * s.n);
    std::vector<float> weights(chosen.size());
    Array x = in_place(answers);
    Array logits = in_place(before);
    for (size_t t = 0; t < s.tokens; ++t) {
        std::vector<double> w;
        std::vector<double> dw;
        double sum = 0;
        double mean = 0;
        for (size_t slot = t * s.used; slot < (t + 1) * s.used; ++slot) {
            w.push_back(std::exp(double(before[t * s.experts + chosen[slot]])));
            sum += w.back();
        }
        for (size_t k = 0; k < s.used; ++k) {
            const size_t slot = t * s.used + k;
            w[k] /= sum;
            weights[slot] = float(w[k] * double(scales[chosen[slot]]));
            double by_weight = 0;
            for (size_t i = 0; i < s.n; ++i) {
                const auto d = double(dy[t * s.n + i]);
                by_weight += d * double(answers[slot * s.n + i]);
                x.expected[slot * s.n + i] = double(weights[slot]) * d;
            }
            dw.push_back(by_weight * double(scales[chosen[slot]]));
            mean += w[k] * dw[k];
        }
        for (size_t e = 0; e < s.experts; ++e) logits.expected[t * s.experts + e] = 0;
        for (size_t k = 0; k < s.used; ++k) {
            logits.expected[t * s.experts + chosen[t * s.used + k]] = w[k] * (dw[k] - mean);
        }
    }
    return {step(0, s.tokens), given(chosen), given(weights),   given(scales),
            given(dy),         std::move(x),  std::move(logits)};
}

}  // namespace

std::vector<Case> expert_lists() {
    std::vector<Case> out;
    // The second has several rounds of slots, the last of them not full.
    for (const Shape& s : {Shape{.n = 0, .experts = 70, .used = 8, .tokens = 19},
                           Shape{.n = 0, .experts = 11, .used = 5, .tokens = 131}}) {
        out.push_back({.shape = format("{} of {} experts, {} tokens", s.used, s.experts, s.tokens),
                       .quick = true,
                       .launches = {launch([s](Tensors t) {
                           return ExpertLists{
                               .ids = t[1], .lists = t[2], .experts = s.experts, .used = s.used, .max_rows = s.tokens};
                       })},
                       .arrays = [s](Random& random) { return list_arrays(s, random); }});
    }
    return out;
}

std::vector<Case> moe_route_backward() {
    std::vector<Case> out;
    for (const Shape& s : {Shape{.n = 257, .experts = 128, .used = 8, .tokens = 5},
                           Shape{.n = 3, .experts = 8, .used = 2, .tokens = 1}}) {
        out.push_back({.shape = format("{} wide, {} of {} experts, {} tokens", s.n, s.used, s.experts, s.tokens),
                       .quick = true,
                       .limit = 1e-5,  // the gradient of a softmax is a difference
                       .launches = {launch([s](Tensors t) {
                           return MoeRouteBackward{.ids = t[1],
                                                   .weights = t[2],
                                                   .scales = t[3],
                                                   .dy = t[4],
                                                   .x = t[5],
                                                   .logits = t[6],
                                                   .cols = s.n,
                                                   .experts = s.experts,
                                                   .used = s.used,
                                                   .rows = s.tokens + 1};
                       })},
                       .arrays = [s](Random& random) { return back_arrays(s, random); }});
    }
    return out;
}

}  // namespace lapidary::kernels::check::expert_cases
