// AdamW with decoupled decay, on all numbers of an adapter at once.
#pragma once

#include <span>

#include "train/backend.h"

namespace lapidary::train {

// Clips the gradients to the norm, lets AdamW change the parameters, counts the step. The norm before clipping; when that
// is not a finite number nothing has changed.
double adamw_step(const AdamW& adamw, std::span<const float> gradients, Moments& moments, std::span<float> parameters);

}  // namespace lapidary::train
