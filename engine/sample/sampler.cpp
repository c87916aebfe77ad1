#include "sample/sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace lapidary::sample {
namespace {

constexpr float kImpossible = -std::numeric_limits<float>::infinity();

Status check_number(float value, float low, float high, std::string_view name) {
    if (value >= low && value <= high) return {};  // NaN fails both
    return fail(Code::invalid_argument, "{} must be a number between {} and {}", name, low, high);
}

// Softmax over (token, logit) pairs sorted by falling logit, in place: the logit becomes a probability.
// Summed in double from the smallest, so that the order of filters cannot move a token across a threshold.
void to_probabilities(std::vector<Choice>& choices, float temperature) {
    const float best = choices.front().probability;
    double sum = 0;
    for (auto it = choices.rbegin(); it != choices.rend(); ++it) {
        sum += std::exp(double(it->probability - best) / double(temperature));
    }
    for (Choice& choice : choices) {
        choice.probability = float(std::exp(double(choice.probability - best) / double(temperature)) / sum);
    }
}

bool more_likely(const Choice& a, const Choice& b) {
    if (a.probability != b.probability) return a.probability > b.probability;
    return a.token < b.token;
}

// How many of the sorted choices survive top-p and min-p (at least one).
size_t survivors(const std::vector<Choice>& sorted, const Params& params) {
    if (params.top_p >= 1.0f && params.min_p <= 0.0f) return sorted.size();
    std::vector<Choice> probable = sorted;
    to_probabilities(probable, 1.0f);
    size_t keep = probable.size();
    if (params.top_p < 1.0f) {
        double reached = 0;
        for (size_t i = 0; i < keep; ++i) {
            reached += double(probable[i].probability);
            if (reached >= double(params.top_p)) keep = i + 1;
        }
    }
    const float least = probable.front().probability * params.min_p;
    while (keep > 1 && probable[keep - 1].probability < least) --keep;
    return keep;
}

}  // namespace

Status check(const Params& params, uint32_t vocabulary) {
    TRY(check_number(params.temperature, 0, 100, "temperature"));
    TRY(check_number(params.top_p, 0, 1, "top_p"));
    TRY(check_number(params.min_p, 0, 1, "min_p"));
    TRY(check_number(params.repeat_penalty, 0.01f, 100, "repeat_penalty"));
    TRY(check_number(params.presence_penalty, -100, 100, "presence_penalty"));
    TRY(check_number(params.frequency_penalty, -100, 100, "frequency_penalty"));
    if (params.top_k < 0) return fail(Code::invalid_argument, "top_k must not be negative");
    for (const auto& [token, bias] : params.logit_bias) {
        if (token < 0 || uint32_t(token) >= vocabulary) {
            return fail(Code::invalid_argument, "logit_bias names token {}; the vocabulary has {}", token, vocabulary);
        }
        if (std::isnan(bias)) return fail(Code::invalid_argument, "the logit_bias of token {} is not a number", token);
    }
    return {};
}

int32_t argmax(std::span<const float> logits) {
    int32_t best = -1;
    for (size_t i = 0; i < logits.size(); ++i) {
        if (std::isfinite(logits[i]) && (best < 0 || logits[i] > logits[size_t(best)])) best = int32_t(i);
    }
    return best;
}

void Sampler::accept(int32_t token) {
    if (params_.penalty_window == 0) return;
    recent_.push_back(token);
    ++counts_[token];
    if (recent_.size() <= params_.penalty_window) return;
    const int32_t forgotten = recent_.front();
    recent_.pop_front();
    if (--counts_[forgotten] == 0) counts_.erase(forgotten);
}

std::vector<float> Sampler::adjusted(std::span<const float> logits, Allowed allowed) const {
    std::vector<float> out(logits.begin(), logits.end());
    for (float& logit : out) {
        if (!std::isfinite(logit)) logit = kImpossible;
    }
    for (const auto& [token, bias] : params_.logit_bias) out[size_t(token)] += bias;
    for (const auto& [token, count] : counts_) {
        if (token < 0 || size_t(token) >= out.size()) continue;
        float& logit = out[size_t(token)];
        logit = logit > 0 ? logit / params_.repeat_penalty : logit * params_.repeat_penalty;
        logit -= params_.presence_penalty + params_.frequency_penalty * float(count);
    }
    if (!allowed.empty()) {
        for (size_t i = 0; i < out.size(); ++i) {
            const bool may = i / 32 < allowed.size() && (allowed[i / 32] >> (i % 32) & 1) != 0;
            if (!may) out[i] = kImpossible;
        }
    }
    return out;
}

Result<std::vector<Choice>> Sampler::distribution(std::span<const float> logits, Allowed allowed) const {
    const std::vector<float> scores = adjusted(logits, allowed);
    std::vector<Choice> choices;
    if (params_.temperature == 0) {
        const int32_t best = argmax(scores);
        if (best >= 0) choices.push_back({best, 1.0f});
    } else {
        choices.reserve(scores.size());
        for (size_t i = 0; i < scores.size(); ++i) {
            if (std::isfinite(scores[i])) choices.push_back({int32_t(i), scores[i]});
        }
    }
    if (choices.empty() && !allowed.empty()) {
        return fail(Code::invalid_argument, "nothing the requested format allows is possible: see logit_bias");
    }
    if (choices.empty())
        return fail(Code::internal, "the model gave no usable prediction: every logit is out of range");
    if (params_.temperature == 0) return choices;

    const size_t k = params_.top_k > 0 ? std::min(size_t(params_.top_k), choices.size()) : choices.size();
    std::partial_sort(choices.begin(), choices.begin() + ptrdiff_t(k), choices.end(), more_likely);
    choices.resize(k);
    choices.resize(survivors(choices, params_));
    to_probabilities(choices, params_.temperature);
    return choices;
}

Result<Choice> Sampler::sample(std::span<const float> logits, uint32_t step, Allowed allowed) const {
    const std::vector<Choice> choices = TRY(distribution(logits, allowed));
    const float target = uniform(params_.seed, step);
    double reached = 0;
    for (const Choice& choice : choices) {
        reached += double(choice.probability);
        if (double(target) < reached) return choice;
    }
    return choices.back();  // rounding left the sum a hair below 1
}

}  // namespace lapidary::sample
