// Rows of the normed stream → soft-capped logits.
#pragma once

#include "infer/gpu_ops.h"

namespace lapidary::infer {

// t.logits[0 …] = the head's logits of `rows` rows of x
void head(kernels::Program& program, GpuOps& ops, const GpuModel& model, const SessionTensors& t, gpu::Tensor x,
          uint32_t rows);

}  // namespace lapidary::infer
