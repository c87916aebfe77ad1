// A training on paper: a safetensors file with the adapter's numbers, the optimizer's moments, the step, and a checksum.
#pragma once

#include <span>

#include "base/byte_source.h"
#include "lora/adapter.h"
#include "train/backend.h"

namespace lapidary::train {

struct Checkpoint {
    uint64_t step = 0;
    uint64_t data = 0;  // Batches::fingerprint: of the examples, and of what decides their order
    lora::Adapter adapter;
    Moments moments;
};

Bytes write_checkpoint(const Checkpoint& checkpoint);

// Bytes from anywhere: what is no checkpoint, damaged or of another version is refused.
Result<Checkpoint> read_checkpoint(std::span<const uint8_t> bytes);

}  // namespace lapidary::train
