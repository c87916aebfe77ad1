#include "train/sequence.h"

#include <cmath>

namespace lapidary::train {

Status check(const Sequence& sequence, uint32_t vocabulary) {
    const size_t tokens = sequence.tokens.size();
    if (tokens == 0) return fail(Code::invalid_argument, "the sequence has no tokens");
    if (sequence.weights.size() != tokens) {
        return fail(Code::invalid_argument, "the sequence has {} tokens and {} weights", tokens,
                    sequence.weights.size());
    }
    if (sequence.starts.empty() || sequence.starts[0] != 0) {
        return fail(Code::invalid_argument, "the sequence's first example must begin at its first token");
    }
    for (size_t i = 0; i < sequence.starts.size(); ++i) {
        const size_t end = i + 1 < sequence.starts.size() ? sequence.starts[i + 1] : tokens;
        if (end <= sequence.starts[i] || end > tokens) {
            return fail(Code::invalid_argument, "the sequence's examples are not in order");
        }
        if (sequence.weights[end - 1] != 0) {
            return fail(Code::invalid_argument, "the last token of an example has nothing to predict: its weight is 0");
        }
    }
    for (size_t t = 0; t < tokens; ++t) {
        if (sequence.tokens[t] < 0 || uint32_t(sequence.tokens[t]) >= vocabulary) {
            return fail(Code::invalid_argument, "token {} does not exist: the vocabulary has {}", sequence.tokens[t],
                        vocabulary);
        }
        if (!std::isfinite(sequence.weights[t]) || sequence.weights[t] < 0) {
            return fail(Code::invalid_argument, "a token's weight must be a number that is not negative");
        }
    }
    return {};
}

double weight_of(const Sequence& sequence) {
    double sum = 0;
    for (const float weight : sequence.weights) sum += double(weight);
    return sum;
}

}  // namespace lapidary::train
