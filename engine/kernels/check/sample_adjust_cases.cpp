#include <algorithm>
#include <bit>
#include <map>

#include "kernels/check/sampling.h"
#include "kernels/check/suites.h"
#include "kernels/sample/sampling_ops.h"

namespace lapidary::kernels::check::sample_adjust_cases {
namespace {

struct Shape {
    uint32_t vocabulary;
    uint32_t position;
    Sampling sampling;
};

// step, sampling, history, biases: [n] of (token, f32), logits, bins
std::vector<Array> arrays_of(const Shape& s, Random& random) {
    const std::vector<float> logits = random.floats(s.vocabulary, -8, 8);
    // Few different tokens: most come several times.
    std::vector<uint32_t> history(s.position + 1);
    for (uint32_t& token : history) token = random.below(std::min(s.vocabulary, 60u));
    std::map<uint32_t, double> adjusted;
    const auto now = [&](uint32_t token) { return adjusted.emplace(token, double(logits[token])).first; };
    std::vector<uint32_t> biases;
    for (uint32_t i = 0; i < s.sampling.biases; ++i) {
        const uint32_t token = 3 * i % s.vocabulary;  // some of them among the recent ones
        const float bias = random.uniform(-4, 4);
        biases.insert(biases.end(), {token, std::bit_cast<uint32_t>(bias)});
        now(token)->second += double(bias);
    }
    std::map<uint32_t, uint32_t> seen;
    const uint32_t held = s.position + 1;
    for (uint32_t p = held - std::min(held, s.sampling.window); p < held; ++p) ++seen[history[p]];
    for (const auto& [token, count] : seen) {
        double& logit = now(token)->second;
        const auto repeat = double(s.sampling.repeat_penalty);
        logit = logit > 0 ? logit / repeat : logit * repeat;
        logit -= double(s.sampling.presence_penalty) + double(s.sampling.frequency_penalty) * count;
    }
    Array after = in_place(logits);
    for (const auto& [token, logit] : adjusted) after.expected[token] = logit;
    Array bins = written(random, kBins + 1, Element::u32);
    std::fill_n(bins.expected.begin(), kBins + 1, 0.0);
    return {step(s.position, 1), s.sampling.array(), given(history), given(biases), std::move(after), std::move(bins)};
}

Case sample_adjust(const Shape& s) {
    return {.shape = format("{} logits at {}, window {}, {} biases", s.vocabulary, s.position, s.sampling.window,
                            s.sampling.biases),
            .launches = {launch([](Tensors t) {
                return SampleAdjust{.sampling = t[1], .history = t[2], .biases = t[3], .logits = t[4], .bins = t[5]};
            })},
            .arrays = [s](Random& random) { return arrays_of(s, random); }};
}

}  // namespace

std::vector<Case> all() {
    const Sampling all{
        .repeat_penalty = 1.3f, .presence_penalty = 0.5f, .frequency_penalty = 0.25f, .window = 64, .biases = 300};
    Sampling widest = all;
    widest.window = 256;
    Sampling biased = all;
    biased.window = 0;
    Sampling penalised = all;
    penalised.biases = 0;
    std::vector<Case> out = {sample_adjust({.vocabulary = 1000, .position = 200, .sampling = all}),
                             sample_adjust({.vocabulary = 1000, .position = 500, .sampling = widest}),
                             sample_adjust({.vocabulary = 1000, .position = 9, .sampling = widest}),
                             sample_adjust({.vocabulary = 1000, .position = 70, .sampling = biased}),
                             sample_adjust({.vocabulary = 61, .position = 63, .sampling = penalised})};
    out[0].quick = true;
    return out;
}

}  // namespace lapidary::kernels::check::sample_adjust_cases
