// gpu.check: whether this GPU computes what it should, and model.states: with a model. gpu.bandwidth: how fast it moves memory.
#include <cstring>

#include "api/api.h"
#include "api/messages/gpu.h"
#include "api/messages/model.h"
#include "api/token_blob.h"
#include "infer/gpu_bandwidth.h"
#include "infer/gpu_states.h"
#include "kernels/check/check.h"
#include "kernels/check/suites.h"

namespace lapidary::api {
namespace {

std::optional<kernels::Format> find_format(std::string_view name) {
    for (uint8_t i = 0; i <= uint8_t(kernels::Format::f32); ++i) {
        if (kernels::format_name(kernels::Format(i)) == name) return kernels::Format(i);
    }
    return std::nullopt;
}

Result<std::vector<kernels::Format>> formats_of(std::span<const std::string> names) {
    std::vector<kernels::Format> out;
    for (const std::string& name : names) {
        const auto format = find_format(name);
        if (!format) return fail(Code::invalid_argument, "there is no weight format '{}'", printable(name));
        out.push_back(*format);
    }
    return out;
}

CheckedCase checked_case(const kernels::check::Outcome& outcome) {
    CheckedCase out{.kernel = std::string(outcome.kernel),
                    .format = outcome.format,
                    .variant = outcome.variant,
                    .shape = outcome.shape,
                    .error = outcome.error,
                    .limit = outcome.limit,
                    .max_error = outcome.max_error,
                    .ok = outcome.ok};
    if (!outcome.problem.empty()) out.problem = outcome.problem;
    return out;
}

}  // namespace

// A GPU that is open already keeps the features it has: `without` is for the first call.
Task<Result<Reply>> Api::gpu_check(Call& call) {
    GpuCheckArgs args;
    CO_TRY(read_message(call.args, args));
    if (device_ == nullptr) co_return fail(Code::unsupported, "there is no WebGPU here, so there is nothing to check");
    kernels::check::Options options{
        .kernels = std::move(args.kernels), .formats = CO_TRY(formats_of(args.formats)), .quick = args.quick};
    CO_TRY(co_await device_->open(std::move(args.without), call.cancel));
    const double from = host_.now();
    const auto outcomes = CO_TRY(co_await kernels::check::run(*device_, kernels::check::suites(), std::move(options),
                                                              progress_of(call), call.cancel));
    GpuCheckResult out{.adapter = device_->info().adapter,
                       .subgroups = device_->info().subgroups,
                       .subgroup_min = device_->info().subgroup_min};
    for (const kernels::check::Outcome& outcome : outcomes) {
        out.cases.push_back(checked_case(outcome));
        out.failed += outcome.ok ? 0 : 1;
    }
    out.ms = host_.now() - from;
    co_return reply(out);
}

// The GPU must be open, as it is once a model was loaded.
Task<Result<Reply>> Api::gpu_bandwidth(Call& call) {
    if (device_ == nullptr) co_return fail(Code::unsupported, "there is no WebGPU here");
    CO_TRY(co_await device_->open({}, call.cancel));
    double copied = 0;
    if (device_->info().timestamps) copied = CO_TRY(co_await infer::copy_bandwidth(*device_, call.cancel));
    co_return reply(GpuBandwidthResult{.bytes_per_second = copied > 0 ? std::optional(copied) : std::nullopt});
}

Task<Result<Reply>> Api::model_states(Call& call) {
    ModelArgs args;
    CO_TRY(read_message(call.args, args));
    const auto model = CO_TRY(model_of(args.model));
    if (model->gpu_weights == nullptr) {
        co_return fail(Code::invalid_argument, "the model is not loaded for the GPU, whose states are told");
    }
    std::vector<int32_t> tokens = CO_TRY(from_blob(call.blob));
    const auto config = CO_TRY(model->config());
    for (const int32_t token : tokens) {
        if (token >= 0 && uint32_t(token) < config->vocabulary) continue;
        co_return fail(Code::invalid_argument, "token {} does not exist: the vocabulary has {}", token,
                       config->vocabulary);
    }
    const std::vector<float> states =
        CO_TRY(co_await infer::layer_states(model->gpu_weights, std::move(tokens), call.cancel));
    Bytes bytes(states.size() * sizeof(float));
    std::memcpy(bytes.data(), states.data(), bytes.size());
    co_return reply(ModelStatesResult{.states = int64_t(states.size() / config->width), .width = config->width},
                    std::move(bytes));
}

}  // namespace lapidary::api
