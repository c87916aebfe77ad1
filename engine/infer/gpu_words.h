// A few words for one dispatch each, many of them in one buffer.
#pragma once

#include <array>
#include <cstring>

#include "infer/gpu_recorder.h"
#include "kernels/gemm_shape.h"

namespace lapidary::infer {

class GpuWords {
  public:
    explicit GpuWords(GpuResources& resources) : resources_(resources) {}

    Result<gpu::Binding> put_bytes(std::span<const uint8_t> bytes) {
        constexpr uint64_t kAlignment = 256;  // where bindings may begin
        constexpr uint64_t kBytes = 64 << 10;
        if (buffer_.buffer == 0 || used_ + bytes.size() > buffer_.size) {
            buffer_ = TRY(resources_.buffer(kBytes, "shapes"));
            used_ = 0;
        }
        const gpu::Binding out{buffer_.buffer, used_, (bytes.size() + 15) / 16 * 16};
        resources_.device().write(out.buffer, out.offset, bytes);
        used_ += (out.size + kAlignment - 1) / kAlignment * kAlignment;
        return out;
    }
    Result<gpu::Binding> put(const std::array<uint32_t, 4>& words) {
        return put_bytes({reinterpret_cast<const uint8_t*>(words.data()), sizeof(words)});
    }
    Result<gpu::Binding> put_shape(const kernels::GemmShape& shape) {
        return put_bytes({reinterpret_cast<const uint8_t*>(&shape), sizeof(shape)});
    }

  private:
    GpuResources& resources_;
    gpu::Binding buffer_;
    uint64_t used_ = 0;
};

// Parts that share a product's long sum: products with a rank have few results, and many workgroups should have something
// to do.
inline constexpr uint32_t kSumParts = 8;
// Columns of a part, whole steps of gemm.wgsl.
constexpr uint32_t sum_part(uint64_t columns) {
    return uint32_t((columns + kSumParts * 16 - 1) / (kSumParts * 16) * 16);
}

}  // namespace lapidary::infer
