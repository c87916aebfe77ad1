// What an op adapts to: what the device reports and what was measured on it, never a vendor's name.
#pragma once

#include "base/kv_format.h"
#include "gpu/device.h"

namespace lapidary::kernels {

// How threads add up what they have: through workgroup memory, or by shuffling within subgroups of at least 32.
enum class Reduction : uint8_t { shared, subgroup };

// In what form gemv meets quantised weights with its activations.
enum class Activations : uint8_t { floats, limbs };

// The form of the kernels that everything recorded for a session is made in.
struct Variant {
    Reduction reduction = Reduction::shared;
    Activations activations = Activations::floats;
    KvFormat kv = KvFormat::f32;
};

struct Target {
    const gpu::Info& info;
    Variant variant = {};
    uint32_t compute_units = 0;  // that were counted; 0: not known
};

}  // namespace lapidary::kernels
