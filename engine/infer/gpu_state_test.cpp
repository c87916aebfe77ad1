#include "infer/gpu_state.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <map>
#include <numeric>

namespace lapidary::infer {
namespace {

// Buffers in memory; nothing runs.
class BufferDevice final : public gpu::Device {
  public:
    std::map<gpu::Id, Bytes> buffers;

    Task<Status> open(std::vector<std::string> /*without*/, Cancel /*cancel*/) override { co_return Status{}; }
    [[nodiscard]] const gpu::Info& info() const override { return info_; }
    Result<gpu::Id> buffer(uint64_t bytes, gpu::Usage /*usage*/, std::string_view /*label*/) override {
        const auto id = gpu::Id(buffers.size() + 1);
        buffers[id].resize(size_t(bytes));
        return id;
    }
    void release(gpu::Id id) override { buffers.erase(id); }
    void write(gpu::Id buffer, uint64_t offset, std::span<const uint8_t> bytes) override {
        ASSERT_LE(offset + bytes.size(), buffers[buffer].size());
        std::ranges::copy(bytes, buffers[buffer].begin() + ptrdiff_t(offset));
    }
    Task<Result<std::vector<uint8_t>>> read(gpu::Id buffer, uint64_t offset, uint64_t size,
                                            Cancel /*cancel*/) override {
        const Bytes& from = buffers[buffer];
        if (offset + size > from.size()) co_return fail(Code::internal, "beyond the end");
        co_return Bytes(from.begin() + ptrdiff_t(offset), from.begin() + ptrdiff_t(offset + size));
    }
    Task<Result<gpu::Id>> pipeline(std::string /*wgsl*/, std::string /*label*/, std::vector<gpu::Access> /*bindings*/,
                                   std::vector<gpu::Constant> /*constants*/, Cancel /*cancel*/) override {
        co_return fail(Code::unsupported, "nothing runs here");
    }
    Result<gpu::Id> bind_group(gpu::Id /*pipeline*/, std::span<const gpu::Binding> /*bindings*/) override { return 0; }
    Result<gpu::Id> program(std::span<const gpu::Command> /*commands*/) override { return 0; }
    void run(gpu::Id /*program*/) override {}
    Task<Result<double>> time(gpu::Id /*program*/, uint32_t /*repeat*/, Cancel /*cancel*/) override { co_return 0.0; }
    Task<Status> sync(Cancel /*cancel*/) override { co_return Status{}; }

  private:
    gpu::Info info_;
};

constexpr uint64_t kStride = 16;

// A region with `positions` rows written one after the other, each full of its number.
CacheRegion filled(BufferDevice& device, uint32_t ring, uint32_t most, uint32_t positions) {
    const CacheRegion region{.buffer = *device.buffer(32 + ring * kStride, {}, ""),
                             .offset = 32,
                             .stride = kStride,
                             .ring = ring,
                             .most = most};
    for (uint32_t p = 0; p < positions; ++p) {
        device.write(region.buffer, 32 + p % ring * kStride, Bytes(kStride, uint8_t(p)));
    }
    return region;
}

Bytes saved(BufferDevice& device, const CacheRegion& region, uint32_t positions) {
    Bytes out;
    const Status status = *save_regions(device, {&region, 1}, positions, [&](Bytes piece) -> Task<Status> {
                               out.insert(out.end(), piece.begin(), piece.end());
                               co_return Status{};
                           }).run_now();
    EXPECT_TRUE(status);
    EXPECT_EQ(out.size(), region_bytes({&region, 1}, positions));
    return out;
}

TEST(GpuState, IsInTheOrderOfPositionsWhereverTheRingBegan) {
    BufferDevice device;
    const CacheRegion region = filled(device, 10, 6, 23);
    const Bytes bytes = saved(device, region, 23);
    ASSERT_EQ(bytes.size(), 6 * kStride);
    for (size_t i = 0; i < 6; ++i) EXPECT_EQ(bytes[i * kStride], 17 + i);
}

TEST(GpuState, MovesToARingOfAnotherSize) {
    BufferDevice device;
    const CacheRegion from = filled(device, 10, 6, 13);
    const CacheRegion to = filled(device, 64, 6, 0);
    Bytes bytes = saved(device, from, 13);
    size_t at = 0;
    const Status status = *load_regions(device, {&to, 1}, 13, [&](uint64_t size) -> Task<Result<Bytes>> {
                               const auto begin = bytes.begin() + ptrdiff_t(at);
                               at += size_t(size);
                               co_return Bytes(begin, begin + ptrdiff_t(size));
                           }).run_now();
    ASSERT_TRUE(status);
    EXPECT_EQ(at, bytes.size());
    EXPECT_EQ(saved(device, to, 13), bytes);
}

TEST(GpuState, KeepsEveryPositionWithoutAWindow) {
    BufferDevice device;
    const Bytes bytes = saved(device, filled(device, 40, 0, 30), 30);
    ASSERT_EQ(bytes.size(), 30 * kStride);
    EXPECT_EQ(bytes.back(), 29);
}

}  // namespace
}  // namespace lapidary::infer
