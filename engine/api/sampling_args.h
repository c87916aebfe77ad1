// From the member `sampling` of a request to what the sampler wants.
#pragma once

#include "api/messages/generate.h"
#include "model/config.h"
#include "sample/sampler.h"

namespace lapidary::api {

// What is not given is as the model's file recommends, or else its makers.
Result<sample::Params> sampling_params(const Sampling& given, const model::Config& config, uint64_t default_seed);

}  // namespace lapidary::api
