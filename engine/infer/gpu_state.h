// What a GPU runner remembers, as bytes: the rows of every cache in the order of their positions, whatever ring they are
// in, so that a session with another context can take them.
#pragma once

#include <span>

#include "gpu/device.h"
#include "model/runner.h"

namespace lapidary::infer {

// Rows of one kind in one buffer: position p at slot p mod ring.
struct CacheRegion {
    gpu::Id buffer = 0;
    uint64_t offset = 0;
    uint64_t stride = 0;  // bytes a position
    uint32_t ring = 0;
    uint32_t most = 0;  // positions worth keeping; 0: all

    [[nodiscard]] uint32_t kept(uint32_t positions) const { return most == 0 ? positions : std::min(positions, most); }
};

uint64_t region_bytes(std::span<const CacheRegion> regions, uint32_t positions);
Task<Status> save_regions(gpu::Device& device, std::span<const CacheRegion> regions, uint32_t positions, PutState put);
Task<Status> load_regions(gpu::Device& device, std::span<const CacheRegion> regions, uint32_t positions, GetState get);

}  // namespace lapidary::infer
