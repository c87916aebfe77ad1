// What `inspect` tells about a model file.
#pragma once

#include "api/args.h"
#include "api/open_model.h"
#include "base/kv_format.h"
#include "lora/adapter.h"
#include "model/quantize.h"

namespace lapidary::api {

// Never fails: a file that cannot be run is described as far as it can be read, with the reason.
// `kv`: how keys and values are kept, for what they need in memory.
Json describe(OpenModel& model, KvFormat kv);

// {variant: {reduction, activations}, selftest: {cases, ms, wrong}, matvec_ms: {planes, floats}}
Json describe(const infer::GpuChoice& choice);

// {name, base_model, alpha, parameters, ranks, layers, targets, updates: [{layer, target, rank, scale}]}
Json describe(const lora::Adapter& adapter);

// {bytes, tensors: [{name, from, to}]}
Json describe(const model::QuantizeReport& report);

}  // namespace lapidary::api
