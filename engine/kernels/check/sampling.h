// How a token is drawn, said slowly: what the kernels sample_*.wgsl do, and what they hand to each other.
#pragma once

#include <array>

#include "kernels/check/case.h"

namespace lapidary::kernels::check {

inline constexpr float kImpossible = -3.0e38f;
inline constexpr uint32_t kBins = 2048;
inline constexpr uint32_t kCandidates = 1024;
inline constexpr uint32_t kNobody = 0xFFFFFFFF;  // the host has to choose

// As sampling.wgsl has it.
struct Sampling {
    float temperature = 1;
    float top_p = 1;
    float min_p = 0;
    float repeat_penalty = 1;
    float presence_penalty = 0;
    float frequency_penalty = 0;
    uint32_t top_k = 64;
    uint32_t window = 0;
    uint64_t seed = 1;
    uint32_t biases = 0;

    [[nodiscard]] Array array() const;
};

struct Candidate {
    float logit = 0;
    uint32_t token = 0;
};

uint32_t bin_of(float largest, float logit);

// [kBins + 1]: how many possible logits lie in each bin, and a zero.
std::vector<uint32_t> counted(std::span<const float> logits);

// Those in the bins down to the one that completes the top_k, in the order of their ids.
std::vector<Candidate> collected(std::span<const float> logits, uint32_t top_k);

// The token that follows the one at `position`.
uint32_t drawn(const Sampling& sampling, std::vector<Candidate> candidates, uint32_t position);

// Logits as a model has them: most are far below the best. In multiples of 2⁻⁸, so that some are equal.
std::vector<float> random_logits(Random& random, size_t count);

// What argmax leaves of its first stage, as far as others read it: [slices] of (largest, anything).
Array best_of(std::span<const float> logits, uint32_t slices);

// [kCandidates] of (logit, token), noise behind the last.
Array candidates_array(Random& random, std::span<const Candidate> candidates);

// What sample_pick writes when it is run `times` times in a row, and what it reads: step, ids, history.
struct Picked {
    Array step, ids, history;
};
Picked picked(Random& random, const Sampling& sampling, const std::vector<Candidate>& candidates, uint32_t position,
              uint32_t times);
// So many times; which arrays are its step, sampling, bins, candidates, ids and history.
Launch pick_launch(std::array<size_t, 6> arrays, uint32_t times);

}  // namespace lapidary::kernels::check
