// From logits to the next token.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "sample/random.h"

namespace lapidary::sample {

// Every filter is off at its default; temperature 0 means greedy.
struct Params {
    float temperature = 1.0f;
    int32_t top_k = 0;               // keep the k most likely; 0: all
    float top_p = 1.0f;              // keep the most likely until their probabilities reach p
    float min_p = 0.0f;              // keep what is at least min_p times as likely as the best
    float repeat_penalty = 1.0f;     // divides the logits of tokens seen recently (multiplies negative ones)
    float presence_penalty = 0.0f;   // subtracted once from a token seen recently
    float frequency_penalty = 0.0f;  // subtracted as often as it was seen
    uint32_t penalty_window = 64;    // how many of the latest tokens count as recent; 0: none
    std::unordered_map<int32_t, float> logit_bias;
    uint64_t seed = 0;
};

// Refuses numbers that mean nothing (negative temperature, NaN, a bias for a token that does not exist).
Status check(const Params& params, uint32_t vocabulary);

// A token and its probability after all filters.
struct Choice {
    int32_t token = 0;
    float probability = 0;
};

// Tokens that may be chosen: bit i of word i / 32. Empty means all; tokens beyond its end may not.
using Allowed = std::span<const uint32_t>;

// Order of the filters: what is allowed, bias, penalties, top-k, top-p, min-p, temperature, draw. Ties go to the lower id, so the
// result depends on nothing but the logits, the parameters, the tokens seen and the step.
class Sampler {
  public:
    explicit Sampler(Params params) : params_(std::move(params)) {}

    // A token that is part of the text now, of the prompt or of the answer.
    void accept(int32_t token);

    // Logits that are not finite are treated as impossible; an error when nothing is possible.
    Result<Choice> sample(std::span<const float> logits, uint32_t step, Allowed allowed = {}) const;

    // The distribution `sample` draws from, most likely first. The probabilities sum to 1.
    [[nodiscard]] Result<std::vector<Choice>> distribution(std::span<const float> logits, Allowed allowed = {}) const;

    [[nodiscard]] const Params& params() const { return params_; }

  private:
    [[nodiscard]] std::vector<float> adjusted(std::span<const float> logits, Allowed allowed) const;

    Params params_;
    std::deque<int32_t> recent_;
    std::unordered_map<int32_t, uint32_t> counts_;  // of the tokens in recent_
};

// The most likely token, the lowest id on a tie; -1 when no logit is finite.
int32_t argmax(std::span<const float> logits);

}  // namespace lapidary::sample
