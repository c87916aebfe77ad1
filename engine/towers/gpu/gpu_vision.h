// The towers that see, on the GPU. What lies before and behind their layers is where the slow tower has it (vision_forward.h),
// with products that are computed on the GPU.
#pragma once

#include <memory>
#include <vector>

#include "towers/gpu/gpu_products.h"
#include "towers/vision_forward.h"

namespace lapidary::towers {

class GpuVision {
  public:
    // Whether there are kernels for it.
    static bool can(const Vision& tower, Activation activation);

    // The file has to live as long.
    static Task<Result<std::unique_ptr<GpuVision>>> load(gpu::Device& device, kernels::Variant variant,
                                                         const gguf::File& file, Vision tower,
                                                         reference::Progress progress, Cancel cancel);

    // [tokens, output]
    Task<Result<std::vector<float>>> run(Shown shown, Listener listener, Cancel cancel) const;
    [[nodiscard]] uint64_t bytes() const { return products_->resources().bytes(); }

  private:
    struct Layer {
        const GpuLinear *q, *k, *v, *out, *gate, *up, *down;
        gpu::Tensor q_norm, k_norm;
        // As add_rms_norm wants them: of what is added to the stream, of what is read next, and the stream's factor.
        gpu::Tensor before, between, behind;
    };
    class Recorder;

    GpuVision(gpu::Device& device, Vision tower, std::shared_ptr<const reference::Weights> small,
              std::shared_ptr<GpuProducts> products)
        : device_(device),
          tower_(std::move(tower)),
          products_(std::move(products)),
          around_(tower_, std::move(small), Activation::gelu, products_) {}

    Status prepare(const reference::Weights& small);
    Task<Status> run_layers(gpu::Tensor stream, uint32_t columns, kernels::Resources& own, const Listener& listener,
                            Cancel cancel) const;

    gpu::Device& device_;
    Vision tower_;
    std::shared_ptr<GpuProducts> products_;
    VisionForward around_;
    gpu::Tensor rates_;
    std::vector<Layer> layers_;
};

}  // namespace lapidary::towers
