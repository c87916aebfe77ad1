// The member `sampling` of a request.
#pragma once

#include "api/args.h"
#include "model/config.h"
#include "sample/sampler.h"

namespace lapidary::api {

// What is not given is as the model's file recommends, or else its makers.
Result<sample::Params> sampling_params(const Args& args, const model::Config& config, uint64_t default_seed);

}  // namespace lapidary::api
