// A model with adapters worked into its weights: a file like any other, that needs no adapter any more.
#pragma once

#include "lora/adapter.h"
#include "model/quantize.h"

namespace lapidary::lora {

// W' = W + Σ scale · B·A, tensor by tensor, in the types of a mix or (without one) in those the file has. An embedding
// that is also the head cannot be changed in one of its two uses: such adapters are refused.
Task<Result<model::QuantizeReport>> merge(const gguf::File& file, const model::WeightTable& table,
                                          std::vector<Active> adapters, std::optional<quant::Mix> mix, ByteSink& sink,
                                          std::function<void(uint64_t done, uint64_t total)> progress, Cancel cancel,
                                          std::function<Task<Status>()> breathe);

}  // namespace lapidary::lora
