// Training on the CPU, on the loaded quantised weights: exact gradients in f32, the oracle of the GPU's.
#pragma once

#include <memory>

#include "train/backend.h"
#include "train/cpu_model.h"
#include "train/parameters.h"

namespace lapidary::train {

struct CpuOptions {
    // Keep only what each layer got, and compute the layer once more on the way back: a third more work, a fraction of
    // the memory, the same bits.
    bool checkpointing = true;
};

class CpuBackend final : public Backend {
  public:
    static Result<std::unique_ptr<CpuBackend>> create(std::shared_ptr<const model::Config> config,
                                                      std::shared_ptr<const model::WeightTable> table,
                                                      std::shared_ptr<const reference::Weights> weights,
                                                      const lora::Adapter& adapter, CpuOptions options);

    Task<Result<double>> accumulate(const Sequence& sequence, double divisor, Dropout dropout,
                                    Breathe breathe) override;
    Task<Result<double>> evaluate(const Sequence& sequence, Breathe breathe) override;
    Task<Result<double>> step(const AdamW& adamw) override;
    void forget_gradients() override;
    Task<Result<lora::Adapter>> adapter() override;
    Task<Result<std::vector<lora::Update>>> gradients() override;
    Task<Result<Moments>> moments() override;
    Task<Status> restore(const lora::Adapter& adapter, const Moments& moments) override;

  private:
    CpuBackend(CpuModel model, Layout layout, const lora::Adapter& adapter, CpuOptions options);

    CpuModel model_;
    Layout layout_;
    CpuOptions options_;
    std::string name_, base_model_;
    float alpha_;
    std::vector<bool> shared_;  // [layers] whether a later layer uses this one's keys and values
    std::vector<float> parameters_, gradients_;
    Moments moments_;
};

// The bytes a step needs on top of the weights: the adapter with its gradients and moments, and what a sequence of so
// many tokens keeps until its gradients are there.
struct CpuMemory {
    uint64_t adapter = 0;
    uint64_t sequence = 0;
};
CpuMemory cpu_memory(const model::Config& config, const model::WeightTable& table, const lora::Adapter& adapter,
                     uint32_t tokens, CpuOptions options);

}  // namespace lapidary::train
