// What a model needs in memory, before anything is loaded.
#pragma once

#include <cstdint>

#include "model/config.h"
#include "model/weights.h"

namespace lapidary::model {

// Bytes of all weights as they are stored.
uint64_t weight_bytes(const WeightTable& table);
uint64_t weight_elements(const WeightTable& table);

// Keys and values of `positions` tokens, each number taking `element_bytes` (4: f32, 2: f16). Sliding layers keep
// their window only; layers that share a donor's K and V keep nothing.
uint64_t kv_bytes(const Config& config, uint64_t positions, uint64_t element_bytes);

// The same without the window: what the CPU reference, which keeps every position, needs.
uint64_t kv_bytes_unwindowed(const Config& config, uint64_t positions, uint64_t element_bytes);

}  // namespace lapidary::model
