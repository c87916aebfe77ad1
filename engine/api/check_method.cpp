// gpu.check: whether this GPU computes what it should. gpu.bandwidth: how fast it moves memory.
#include "api/api.h"
#include "infer/gpu_bandwidth.h"
#include "kernels/check/check.h"
#include "kernels/check/suites.h"

namespace lapidary::api {
namespace {

constexpr size_t kMaxNames = 64;

std::optional<kernels::Format> find_format(std::string_view name) {
    for (uint8_t i = 0; i <= uint8_t(kernels::Format::f32); ++i) {
        if (kernels::format_name(kernels::Format(i)) == name) return kernels::Format(i);
    }
    return std::nullopt;
}

Result<std::vector<kernels::Format>> formats_of(const Args& args) {
    std::vector<kernels::Format> out;
    for (const std::string& name : TRY(args.strings("formats", kMaxNames))) {
        const auto format = find_format(name);
        if (!format) return fail(Code::invalid_argument, "there is no weight format '{}'", printable(name));
        out.push_back(*format);
    }
    return out;
}

Json outcome_json(const kernels::check::Outcome& outcome) {
    Json json = {{"kernel", outcome.kernel},       {"format", outcome.format}, {"variant", outcome.variant},
                 {"shape", outcome.shape},         {"error", outcome.error},   {"limit", outcome.limit},
                 {"max_error", outcome.max_error}, {"ok", outcome.ok}};
    if (!outcome.problem.empty()) json["problem"] = outcome.problem;
    return json;
}

}  // namespace

// {without, kernels, formats, quick} → {adapter, subgroups, cases, failed, ms}, with progress. A GPU that is open
// already keeps the features it has: `without` is for the first call.
Task<Result<Reply>> Api::gpu_check(Call& call) {
    if (device_ == nullptr) co_return fail(Code::unsupported, "there is no WebGPU here, so there is nothing to check");
    kernels::check::Options options{.kernels = CO_TRY(call.args.strings("kernels", kMaxNames)),
                                    .formats = CO_TRY(formats_of(call.args)),
                                    .quick = CO_TRY(call.args.boolean_or("quick", false))};
    CO_TRY(co_await device_->open(CO_TRY(call.args.strings("without", kMaxNames)), call.cancel));
    const double from = host_.now();
    const auto outcomes = CO_TRY(co_await kernels::check::run(*device_, kernels::check::suites(), std::move(options),
                                                              progress_of(call), call.cancel));
    Json cases = Json::array();
    size_t failed = 0;
    for (const kernels::check::Outcome& outcome : outcomes) {
        cases.push_back(outcome_json(outcome));
        failed += outcome.ok ? 0 : 1;
    }
    co_return Reply{.json = {{"adapter", device_->info().adapter},
                             {"subgroups", device_->info().subgroups},
                             {"subgroup_min", device_->info().subgroup_min},
                             {"cases", std::move(cases)},
                             {"failed", failed},
                             {"ms", host_.now() - from}}};
}

// {} → {bytes_per_second}: null where it cannot be measured. The GPU must be open, as it is once a model was loaded.
Task<Result<Reply>> Api::gpu_bandwidth(Call& call) {
    if (device_ == nullptr) co_return fail(Code::unsupported, "there is no WebGPU here");
    CO_TRY(co_await device_->open({}, call.cancel));
    double copied = 0;
    if (device_->info().timestamps) copied = CO_TRY(co_await infer::copy_bandwidth(*device_, call.cancel));
    co_return Reply{.json = {{"bytes_per_second", copied > 0 ? Json(copied) : Json(nullptr)}}};
}

}  // namespace lapidary::api
