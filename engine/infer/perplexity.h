// How well a model predicts a text.
#pragma once

#include <functional>
#include <vector>

#include "infer/session.h"

namespace lapidary::infer {

struct Perplexity {
    double nll = 0;  // mean negative log-likelihood of a token, in nats
    uint64_t tokens = 0;
    [[nodiscard]] double value() const;
};

// The text is cut into windows of `window` positions, each beginning with `bos` and an empty context; every token of
// the text is predicted once. Longer windows give lower numbers: compare only what was measured with the same one.
Task<Result<Perplexity>> perplexity(Session& session, std::vector<int32_t> tokens, int32_t bos, uint32_t window,
                                    std::function<void(uint64_t done, uint64_t total)> progress, Breathe breathe);

}  // namespace lapidary::infer
