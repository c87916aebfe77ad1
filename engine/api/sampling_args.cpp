#include "api/sampling_args.h"

#include <cstdlib>
#include <limits>

namespace lapidary::api {
namespace {

constexpr int64_t kMaxWindow = 1 << 26;

// What Gemma 4's makers recommend, where neither the file nor the caller says otherwise.
constexpr float kTemperature = 1.0f;
constexpr int32_t kTopK = 64;
constexpr float kTopP = 0.95f;

}  // namespace

Result<sample::Params> sampling_params(const Args& args, const model::Config& config, uint64_t default_seed) {
    constexpr int64_t kMaxInt = std::numeric_limits<int32_t>::max();
    sample::Params out;
    const model::SamplingHints& hints = config.sampling;
    out.temperature = TRY(args.number_or("temperature", hints.temperature.value_or(kTemperature)));
    out.top_k = int32_t(TRY(args.integer_or("top_k", 0, kMaxInt, hints.top_k.value_or(kTopK))));
    out.top_p = TRY(args.number_or("top_p", hints.top_p.value_or(kTopP)));
    out.min_p = TRY(args.number_or("min_p", 0));
    out.repeat_penalty = TRY(args.number_or("repeat_penalty", 1));
    out.presence_penalty = TRY(args.number_or("presence_penalty", 0));
    out.frequency_penalty = TRY(args.number_or("frequency_penalty", 0));
    out.penalty_window = uint32_t(TRY(args.integer_or("repeat_last_n", 0, kMaxWindow, 64)));
    out.seed = uint64_t(TRY(args.integer_or("seed", 0, kMaxInt << 21, int64_t(default_seed))));
    const Json& bias = args.member("logit_bias");
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
