#include "infer/gpu_state.h"

#include <algorithm>

namespace lapidary::infer {
namespace {

// What passes through our memory at a time.
constexpr uint64_t kPieceBytes = 4ull << 20;

// Positions from `at` on that lie next to each other and are not too many at once.
uint32_t run_from(const CacheRegion& region, uint32_t at, uint32_t end) {
    const uint64_t most = std::max<uint64_t>(1, kPieceBytes / region.stride);
    return uint32_t(std::min<uint64_t>({end - at, region.ring - at % region.ring, most}));
}

uint64_t place_of(const CacheRegion& region, uint32_t position) {
    return region.offset + uint64_t(position % region.ring) * region.stride;
}

}  // namespace

uint64_t region_bytes(std::span<const CacheRegion> regions, uint32_t positions) {
    uint64_t bytes = 0;
    for (const CacheRegion& region : regions) bytes += region.kept(positions) * region.stride;
    return bytes;
}

Task<Status> save_regions(gpu::Device& device, std::span<const CacheRegion> regions, uint32_t positions, PutState put) {
    for (const CacheRegion& region : regions) {
        uint32_t run = 0;
        for (uint32_t at = positions - region.kept(positions); at < positions; at += run) {
            run = run_from(region, at, positions);
            auto bytes = CO_TRY(co_await device.read(region.buffer, place_of(region, at), run * region.stride, {}));
            CO_TRY(co_await put(std::move(bytes)));
        }
    }
    co_return Status{};
}

Task<Status> load_regions(gpu::Device& device, std::span<const CacheRegion> regions, uint32_t positions, GetState get) {
    for (const CacheRegion& region : regions) {
        uint32_t run = 0;
        for (uint32_t at = positions - region.kept(positions); at < positions; at += run) {
            run = run_from(region, at, positions);
            const Bytes bytes = CO_TRY(co_await get(run * region.stride));
            device.write(region.buffer, place_of(region, at), bytes);
        }
        // What was written waits in the host's memory until the GPU has taken it.
        CO_TRY(co_await device.sync({}));
    }
    co_return Status{};
}

}  // namespace lapidary::infer
