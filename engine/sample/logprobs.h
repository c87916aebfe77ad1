// How likely the model itself held a token to be.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace lapidary::sample {

struct TokenLogprob {
    int32_t token = 0;
    float logprob = 0;  // natural logarithm; kNoChance when the model rules the token out
    bool operator==(const TokenLogprob&) const = default;
};
inline constexpr float kNoChance = -9999;

struct TokenScore {
    TokenLogprob chosen;
    std::vector<TokenLogprob> top;  // the most likely tokens, best first, ties to the lower id
};

// The softmax of the logits as they are: before bias, penalties, temperature and filters.
TokenScore score(std::span<const float> logits, int32_t chosen, size_t top);

}  // namespace lapidary::sample
