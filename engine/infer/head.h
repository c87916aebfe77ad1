// Rows of the normed stream → soft-capped logits.
#pragma once

#include "infer/gpu_ops.h"

namespace lapidary::infer {

// logits[0 …] = the head's of `rows` rows of x
void head(kernels::Program& program, GpuOps& ops, const GpuModel& model, gpu::Tensor x, gpu::Tensor logits,
          uint32_t rows);

}  // namespace lapidary::infer
