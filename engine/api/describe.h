// What `inspect` tells about a model file.
#pragma once

#include "api/messages/adapter.h"
#include "api/messages/model.h"
#include "api/open_model.h"
#include "base/kv_format.h"
#include "lora/adapter.h"
#include "model/quantize.h"
#include "towers/projector.h"

namespace lapidary::api {

// Never fails: a file that cannot be run is described as far as it can be read, with the reason.
// `kv`: how keys and values are kept, for what they need in memory.
ModelDescription describe(OpenModel& model, KvFormat kv);
GpuKernels describe(const infer::Autotune& choice);
TowersDescription describe(const towers::Projector& projector);
// How a model computes on the CPU, once it is loaded there.
std::optional<CpuKernels> describe_cpu(const OpenModel& model);
// Where model.load says that the table of per-layer embeddings goes.
Result<infer::TablePlace> table_place(std::string_view name);
AdapterDescription describe(const lora::Adapter& adapter);
WrittenModel describe(const model::QuantizeReport& report);

}  // namespace lapidary::api
