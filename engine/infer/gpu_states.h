// What goes from layer to layer on the GPU, to be compared with what others computed.
#pragma once

#include <memory>
#include <vector>

#include "infer/gpu_model.h"

namespace lapidary::infer {

// Of a text's last token the residual stream before each layer, and behind the last one what the head reads. Up to 512 tokens, in
// one block. [layers + 1, width]
Task<Result<std::vector<float>>> layer_states(std::shared_ptr<GpuModel> model, std::vector<int32_t> tokens,
                                              Cancel cancel);

}  // namespace lapidary::infer
