// How fast a GPU moves memory: what reading weights is measured against.
#pragma once

#include "gpu/device.h"

namespace lapidary::infer {

// Bytes a second of a plain copy of a large buffer, those read and those written, by the GPU's own clock (the device must
// have timestamps); 0 when it has no room for two such buffers.
Task<Result<double>> copy_bandwidth(gpu::Device& device, Cancel cancel);

}  // namespace lapidary::infer
