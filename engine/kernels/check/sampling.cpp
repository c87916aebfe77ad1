#include "kernels/check/sampling.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "kernels/sample/sampling_ops.h"
#include "sample/random.h"

namespace lapidary::kernels::check {
namespace {

// How many of the likeliest survive top-p and min-p.
size_t survivors(const Sampling& sampling, std::span<const Candidate> sorted) {
    std::vector<double> weights;
    double sum = 0;
    for (const Candidate& one : sorted) {
        weights.push_back(std::exp(double(one.logit) - double(sorted[0].logit)));
        sum += weights.back();
    }
    size_t keep = sorted.size();
    double reached = 0;
    for (size_t i = 0; sampling.top_p < 1 && i < keep; ++i) {
        reached += weights[i];
        if (reached >= double(sampling.top_p) * sum) keep = i + 1;
    }
    while (keep > 1 && weights[keep - 1] < double(sampling.min_p)) --keep;
    return keep;
}

}  // namespace

Array Sampling::array() const {
    const auto bits = [](float value) { return std::bit_cast<uint32_t>(value); };
    return given(std::to_array<uint32_t>({bits(temperature), bits(top_p), bits(min_p), bits(repeat_penalty),
                                          bits(presence_penalty), bits(frequency_penalty), top_k, window,
                                          uint32_t(seed), uint32_t(seed >> 32), biases, 0}));
}

uint32_t bin_of(float largest, float logit) {
    return uint32_t(std::min((largest - logit) * 32, float(kBins - 1)));
}

std::vector<uint32_t> counted(std::span<const float> logits) {
    std::vector<uint32_t> out(kBins + 1);
    const float largest = std::ranges::max(logits);
    for (const float logit : logits) {
        if (logit > kImpossible) ++out[bin_of(largest, logit)];
    }
    return out;
}

std::vector<Candidate> collected(std::span<const float> logits, uint32_t top_k) {
    const std::vector<uint32_t> bins = counted(logits);
    const float largest = std::ranges::max(logits);
    uint32_t deepest = 0;
    for (uint32_t reached = bins[0]; reached < top_k && deepest + 1 < kBins;) reached += bins[++deepest];
    std::vector<Candidate> out;
    for (size_t i = 0; i < logits.size(); ++i) {
        if (logits[i] > kImpossible && bin_of(largest, logits[i]) <= deepest) out.push_back({logits[i], uint32_t(i)});
    }
    return out;
}

uint32_t drawn(const Sampling& sampling, std::vector<Candidate> candidates, uint32_t position) {
    if (candidates.empty() || candidates.size() > kCandidates) return kNobody;
    std::ranges::sort(candidates, [](const Candidate& a, const Candidate& b) {
        return a.logit != b.logit ? a.logit > b.logit : a.token < b.token;
    });
    if (sampling.temperature == 0) return candidates[0].token;
    candidates.resize(std::min<size_t>(std::max(sampling.top_k, 1u), candidates.size()));
    candidates.resize(survivors(sampling, candidates));
    const auto weight = [&](const Candidate& one) {
        return std::exp((double(one.logit) - double(candidates[0].logit)) / double(sampling.temperature));
    };
    double sum = 0;
    for (const Candidate& one : candidates) sum += weight(one);
    const double target = double(sample::uniform(sampling.seed, position + 1)) * sum;
    double reached = 0;
    for (const Candidate& one : candidates) {
        reached += weight(one);
        if (target < reached) return one.token;
    }
    return candidates.back().token;
}

std::vector<float> random_logits(Random& random, size_t count) {
    std::vector<float> out(count);
    for (float& logit : out) {
        const float at = random.uniform(0, 1);
        logit = std::round((20 - 30 * std::sqrt(at)) * 256) / 256;
    }
    return out;
}

Array best_of(std::span<const float> logits, uint32_t slices) {
    std::vector<uint32_t> words;
    const size_t length = ceil_div(logits.size(), slices);
    for (size_t slice = 0; slice < slices; ++slice) {
        const size_t first = std::min(slice * length, logits.size());
        const auto here = logits.subspan(first, std::min(length, logits.size() - first));
        const auto best = std::ranges::max_element(here);
        const bool none = best == here.end();
        words.push_back(std::bit_cast<uint32_t>(none ? -3.4e38f : *best));
        words.push_back(kNobody);
    }
    return given(words);
}

Array candidates_array(Random& random, std::span<const Candidate> candidates) {
    Array out = written(random, size_t{2} * kCandidates, Element::u32);
    out.expected.clear();  // in no order
    if (candidates.empty()) return out;
    std::memcpy(out.before.data(), candidates.data(),
                std::min(candidates.size_bytes(), sizeof(Candidate) * kCandidates));
    return out;
}

Picked picked(Random& random, const Sampling& sampling, const std::vector<Candidate>& candidates, uint32_t position,
              uint32_t times) {
    Picked out{.step = step(position, 1),
               .ids = written(random, 1, Element::u32),
               .history = written(random, position + times + 1, Element::u32)};
    out.step.expected = {double(position + times), 1, 0, 0};
    for (uint32_t i = 0; i < times; ++i) {
        const auto token = double(drawn(sampling, candidates, position + i));
        out.history.expected[position + i + 1] = token;
        out.ids.expected[0] = token;
    }
    return out;
}

Launch pick_launch(std::array<size_t, 6> arrays, uint32_t times) {
    Launch out = launch([=](Tensors t) {
        return SamplePick{.step = t[arrays[0]],
                          .sampling = t[arrays[1]],
                          .bins = t[arrays[2]],
                          .candidates = t[arrays[3]],
                          .ids = t[arrays[4]],
                          .history = t[arrays[5]]};
    });
    out.times = times;
    return out;
}

}  // namespace lapidary::kernels::check
