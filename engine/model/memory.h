// What a model needs in memory, before anything is loaded.
#pragma once

#include <cstdint>

#include "base/kv_format.h"
#include "model/config.h"
#include "model/weights.h"

namespace lapidary::model {

// Bytes of all weights as they are stored.
uint64_t weight_bytes(const WeightTable& table);
uint64_t weight_elements(const WeightTable& table);

// Keys and values of `positions` tokens, their scales included. Sliding layers keep their window only; layers that share
// a donor's K and V keep nothing, and of a model of embeddings there are those of a layer at a time.
uint64_t kv_bytes(const Config& config, uint64_t positions, KvFormat format);

// The same without the window: what the CPU reference, which keeps every position in f32, needs.
uint64_t kv_bytes_unwindowed(const Config& config, uint64_t positions);

}  // namespace lapidary::model
