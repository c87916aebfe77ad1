// Models that were never trained: the sizes, metadata and types of a real one, filled with noise. They say nothing
// sensible, but take exactly as long and as much memory as the real ones.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "base/byte_source.h"
#include "gguf/writer.h"
#include "model/blueprint.h"
#include "quant/mix.h"

namespace lapidary::model {

// What the file will be, before a weight of it is made.
struct SynthPlan {
    Config config;
    std::vector<TensorBlueprint> tensors;
    std::vector<TensorType> types;  // one a tensor
    gguf::Layout layout;
};

// `variant`: a name that family_config() knows. Types are those a BF16 model would be given in this mix.
Result<SynthPlan> plan_synth(std::string_view variant, quant::Mix mix);

// Writes the planned file. Weights have mean 0 and a standard deviation of 1/sqrt(row length), and norms are near 1, so
// that activations keep their size from layer to layer. The same plan and seed give the same bytes.
Task<Status> write_synth(const SynthPlan& plan, uint64_t seed, ByteSink& sink,
                         std::function<void(uint64_t done, uint64_t total)> progress, Cancel cancel,
                         std::function<Task<Status>()> breathe);

}  // namespace lapidary::model
