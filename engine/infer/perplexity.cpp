#include "infer/perplexity.h"

#include <algorithm>
#include <cmath>

namespace lapidary::infer {
namespace {

// -log softmax(logits)[token], in double.
double surprise(std::span<const float> logits, int32_t token) {
    const auto largest = double(*std::ranges::max_element(logits));
    double sum = 0;
    for (const float logit : logits) sum += std::exp(double(logit) - largest);
    return largest + std::log(sum) - double(logits[size_t(token)]);
}

}  // namespace

double Perplexity::value() const {
    return std::exp(nll);
}

Task<Result<Perplexity>> perplexity(Session& session, std::vector<int32_t> tokens, int32_t bos, uint32_t window,
                                    std::function<void(uint64_t done, uint64_t total)> progress, Breathe breathe) {
    if (tokens.empty()) co_return fail(Code::invalid_argument, "there is no text to measure");
    if (window < 2 || window > session.runner().context()) {
        co_return fail(Code::invalid_argument, "the window must be between 2 and {} tokens",
                       session.runner().context());
    }
    Perplexity out;
    double sum = 0;
    for (size_t at = 0; at < tokens.size(); at += window - 1) {
        const auto part =
            std::span<const int32_t>(tokens).subspan(at, std::min<size_t>(window - 1, tokens.size() - at));
        std::vector<int32_t> input = {bos};
        input.insert(input.end(), part.begin(), part.end() - 1);  // the last token is predicted, never read
        CO_TRY(co_await session.logits(
            {.tokens = std::move(input)},
            [&](uint32_t position, std::vector<float> logits) -> Task<Status> {
                sum += surprise(logits, part[position]);
                ++out.tokens;
                if (progress) progress(out.tokens, tokens.size());
                co_return Status{};
            },
            breathe));
    }
    out.nll = sum / double(out.tokens);
    co_return out;
}

}  // namespace lapidary::infer
