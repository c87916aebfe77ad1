#include "sample/logprobs.h"

#include <algorithm>
#include <cmath>

namespace lapidary::sample {

TokenScore score(std::span<const float> logits, int32_t chosen, size_t top) {
    TokenScore out{.chosen = {chosen, kNoChance}, .top = {}};
    // The best so far, in order; a vocabulary is long and `top` is short.
    const auto better = [](const TokenLogprob& a, const TokenLogprob& b) { return a.logprob > b.logprob; };
    float largest = -INFINITY;
    for (size_t i = 0; i < logits.size(); ++i) {
        const float logit = logits[i];
        if (!std::isfinite(logit)) continue;
        largest = std::max(largest, logit);
        if (top == 0 || (out.top.size() == top && logit <= out.top.back().logprob)) continue;
        const TokenLogprob entry{int32_t(i), logit};
        if (out.top.size() == top) out.top.pop_back();
        out.top.insert(std::ranges::upper_bound(out.top, entry, better), entry);
    }
    if (!std::isfinite(largest)) return out;
    double sum = 0;
    for (const float logit : logits) {
        if (std::isfinite(logit)) sum += double(std::exp(logit - largest));
    }
    const double total = double(largest) + std::log(sum);
    for (TokenLogprob& entry : out.top) entry.logprob = float(double(entry.logprob) - total);
    const bool known = chosen >= 0 && size_t(chosen) < logits.size() && std::isfinite(logits[size_t(chosen)]);
    if (known) out.chosen.logprob = float(double(logits[size_t(chosen)]) - total);
    return out;
}

}  // namespace lapidary::sample
