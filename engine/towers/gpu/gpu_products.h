// A tower's matrices on the GPU, and its products there. Activations come from the CPU and go back to it: of most towers that is
// a small part of the time.
#pragma once

#include <map>
#include <string>

#include "kernels/resources.h"
#include "kernels/towers/clipped_gemm.h"
#include "towers/products.h"

namespace lapidary::towers {

// A matrix as it lies there. Its columns are a multiple of 32, with zeros behind those of the file; so are the rows that
// there is memory for.
struct GpuLinear {
    kernels::Weights weights;
    uint64_t cols = 0;  // the file's
    kernels::ClipBounds bounds;

    [[nodiscard]] uint64_t padded_rows() const { return (weights.rows + 31) / 32 * 32; }
};

class GpuProducts : public Products {
  public:
    // The file has to live as long.
    static Task<Result<std::shared_ptr<GpuProducts>>> load(gpu::Device& device, kernels::Variant variant,
                                                           const gguf::File& file, const std::vector<Linear>& linears,
                                                           const reference::Weights& bounds,
                                                           reference::Progress progress, Cancel cancel);

    [[nodiscard]] Task<Result<std::vector<float>>> apply(const Linear& linear, std::span<const float> x,
                                                         Breathe breathe) const override;
    [[nodiscard]] Task<Result<std::vector<float>>> rows(const Weight& table, uint64_t first,
                                                        uint64_t count) const override;

    [[nodiscard]] const GpuLinear& of(const Linear& linear) const { return linears_.at(linear.weight.name); }
    // Pipelines, and what lives as long as the tower.
    [[nodiscard]] kernels::Resources& resources() const { return resources_; }

  private:
    GpuProducts(gpu::Device& device, kernels::Variant variant, const gguf::File& file)
        : device_(device), file_(file), resources_(device, variant) {}

    Task<Result<GpuLinear>> upload(const Linear& linear, const reference::Weights& bounds, Cancel cancel);

    gpu::Device& device_;
    const gguf::File& file_;
    mutable kernels::Resources resources_;
    std::map<std::string, GpuLinear> linears_;  // by the names of their weights
};

// The weights that nothing is multiplied with.
std::vector<const Weight*> small_weights(const std::vector<Weight>& all, const std::vector<Linear>& linears);

// Numbers as the GPU takes them.
inline std::span<const uint8_t> bytes_of(std::span<const float> values) {
    return {reinterpret_cast<const uint8_t*>(values.data()), values.size_bytes()};
}

// How many rows a program is about, as kernels read it.
Result<gpu::Tensor> step_of(kernels::Resources& resources, uint32_t rows);

}  // namespace lapidary::towers
