#include "api/sampling_args.h"

#include <cstdlib>
#include <limits>

namespace lapidary::api {
namespace {

// What Gemma 4's makers recommend, where neither the file nor the caller says otherwise.
constexpr float kTemperature = 1.0f;
constexpr int32_t kTopK = 64;
constexpr float kTopP = 0.95f;

}  // namespace

Result<sample::Params> sampling_params(const Sampling& given, const model::Config& config, uint64_t default_seed) {
    sample::Params out;
    const model::SamplingHints& hints = config.sampling;
    out.temperature = float(given.temperature.value_or(hints.temperature.value_or(kTemperature)));
    out.top_k = int32_t(given.top_k.value_or(hints.top_k.value_or(kTopK)));
    out.top_p = float(given.top_p.value_or(hints.top_p.value_or(kTopP)));
    out.min_p = float(given.min_p);
    out.repeat_penalty = float(given.repeat_penalty);
    out.presence_penalty = float(given.presence_penalty);
    out.frequency_penalty = float(given.frequency_penalty);
    out.penalty_window = uint32_t(given.repeat_last_n);
    out.seed = uint64_t(given.seed.value_or(int64_t(default_seed)));
    const Json& bias = given.logit_bias;
    if (!bias.is_null() && !bias.is_object()) {
        return fail(Code::invalid_argument, "'logit_bias' must be an object of token ids and numbers");
    }
    for (const auto& [id, value] : bias.items()) {
        const bool is_id = !id.empty() && id.size() <= 7 && id.find_first_not_of("0123456789") == std::string::npos;
        if (!is_id || !value.is_number()) {
            return fail(Code::invalid_argument, "'logit_bias' must be an object of token ids and numbers");
        }
        out.logit_bias[int32_t(std::strtol(id.c_str(), nullptr, 10))] = value.get<float>();
    }
    for (const int32_t token : config.suppress_tokens) out.logit_bias[token] = -std::numeric_limits<float>::infinity();
    return out;
}

}  // namespace lapidary::api
