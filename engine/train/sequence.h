// Sequences from outside are checked before they go through a model.
#pragma once

#include "train/backend.h"

namespace lapidary::train {

// Tokens that exist, a weight for each, examples in order, and no example that is to predict the next one's beginning.
Status check(const Sequence& sequence, uint32_t vocabulary);

// Σ weights
double weight_of(const Sequence& sequence);

}  // namespace lapidary::train
