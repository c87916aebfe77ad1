// What `inspect` tells about a model file.
#pragma once

#include "api/args.h"
#include "api/open_model.h"

namespace lapidary::api {

// Never fails: a file that cannot be run is described as far as it can be read, with the reason.
Json describe(OpenModel& model);

// {variant: {reduction, activations}, selftest: {cases, ms, wrong}, matvec_ms: {planes, floats}}
Json describe(const infer::GpuChoice& choice);

}  // namespace lapidary::api
