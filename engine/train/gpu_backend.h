// Training on the GPU, on the weights that are there already: exact gradients in f32, whole sequences at once.
#pragma once

#include <memory>

#include "train/backend.h"
#include "train/gpu_pass.h"

namespace lapidary::train {

class GpuBackend final : public Backend {
  public:
    // A sequence may be longer than the options say: then everything for longer ones is made when it comes.
    static Task<Result<std::unique_ptr<GpuBackend>>> create(std::shared_ptr<infer::GpuModel> model,
                                                            const lora::Adapter& adapter, GpuPassOptions options,
                                                            Cancel cancel);

    // The bytes that it would take on the GPU, without the weights: everything is allocated and recorded as it would be for
    // sequences of options.tokens, on a device that only takes notes.
    static Task<Result<uint64_t>> memory(std::shared_ptr<infer::GpuModel> model, const lora::Adapter& adapter,
                                         GpuPassOptions options, Dropout dropout, Breathe breathe = {});

    Task<Result<double>> accumulate(const Sequence& sequence, double divisor, Dropout dropout,
                                    Breathe breathe) override;
    Task<Result<double>> evaluate(const Sequence& sequence, Breathe breathe) override;
    Task<Result<double>> step(const AdamW& adamw) override;
    void forget_gradients() override;
    Task<Result<lora::Adapter>> adapter() override;
    Task<Result<std::vector<lora::Update>>> gradients() override;
    Task<Result<Moments>> moments() override;
    Task<Status> restore(const lora::Adapter& adapter, const Moments& moments) override;

    // On the GPU, without the weights.
    [[nodiscard]] uint64_t bytes() const { return resources_.bytes() + (pass_ ? pass_->bytes() : 0); }

  private:
    GpuBackend(gpu::Device& device, std::shared_ptr<infer::GpuModel> model, Layout layout, const lora::Adapter& adapter,
               GpuPassOptions options);
    // device: the model's, or one that only plans.
    static Task<Result<std::unique_ptr<GpuBackend>>> prepare(gpu::Device& device,
                                                             std::shared_ptr<infer::GpuModel> model,
                                                             const lora::Adapter& adapter, GpuPassOptions options,
                                                             Cancel cancel);
    Status allocate();
    Status make_room(const Sequence& sequence);
    Task<Status> record_step(Cancel cancel);
    // All layers' numbers, one of the four kinds, in the order of the layout.
    using Kind = gpu::Tensor LoraBuffers::*;
    Task<Result<std::vector<float>>> read(Kind kind);
    void write(Kind kind, std::span<const float> numbers);

    std::shared_ptr<infer::GpuModel> model_;
    Layout layout_;
    GpuPassOptions options_;
    std::string name_, base_model_;
    float alpha_;
    kernels::Resources resources_;
    std::vector<LoraBuffers> lora_;  // [layers]
    gpu::Tensor settings_, sums_, found_;
    gpu::Id step_program_ = 0, forget_program_ = 0;
    uint64_t steps_ = 0;
    std::unique_ptr<GpuPass> pass_;
};

}  // namespace lapidary::train
