// Which scratch tensors of a program share a buffer. WebGPU looks at whole buffers when it asks who reads and who writes, so
// whole buffers change hands, never parts of them.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "kernels/dispatch.h"

namespace lapidary::kernels {

// A tensor that lives as long as one program runs; its buffer is found when the program is compiled.
struct Scratch {
    std::string name;
    uint64_t bytes = 0;
};

// Scratch tensors have ids of their own until then.
inline constexpr gpu::Id kScratchIds = 0x8000'0000;
constexpr bool is_scratch(gpu::Id buffer) {
    return buffer >= kScratchIds;
}

// For each scratch tensor the number of the buffer it gets; `sizes`, the buffers that there are, grows where they are too
// few or too small. A tensor that is read before it is written is an error, by its name.
Result<std::vector<size_t>> assign_buffers(std::span<const Dispatch> dispatches, std::span<const Scratch> tensors,
                                           std::vector<uint64_t>& sizes);

}  // namespace lapidary::kernels
