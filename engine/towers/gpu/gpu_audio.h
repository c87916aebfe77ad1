// The towers that hear, with products that are computed on the GPU: the rest of them, a hundredth of the work, is where the slow
// tower has it.
#pragma once

#include "towers/audio_forward.h"
#include "towers/gpu/gpu_products.h"

namespace lapidary::towers {

// The file has to live as long.
Task<Result<std::unique_ptr<const AudioForward>>> gpu_audio(gpu::Device& device, kernels::Variant variant,
                                                            const gguf::File& file, Audio tower,
                                                            reference::Progress progress, Cancel cancel);

}  // namespace lapidary::towers
