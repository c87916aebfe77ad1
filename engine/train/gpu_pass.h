// A sequence's way through the model and back on the GPU, as programs: one for each layer and direction, recorded once.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "infer/transformer_layer.h"
#include "train/backend.h"
#include "train/gpu_head.h"
#include "train/train_tensors.h"

namespace lapidary::train {

struct GpuPassOptions {
    uint32_t tokens = 512;  // of the longest sequence
    // Keep only what each layer got, and compute the layer once more on the way back: a third more work, a fraction of
    // the memory.
    bool checkpointing = true;
    // What the scores of a block of queries, and the logits of a tile of the vocabulary, may take.
    uint64_t score_bytes = uint64_t{64} << 20;
    uint64_t logit_bytes = uint64_t{32} << 20;
};

class GpuPass {
  public:
    // device: the model's, or one that only plans.
    static Result<std::unique_ptr<GpuPass>> create(gpu::Device& device, std::shared_ptr<infer::GpuModel> model,
                                                   const Layout& layout, const std::vector<LoraBuffers>& lora,
                                                   GpuPassOptions options);

    [[nodiscard]] uint32_t tokens() const { return t_.tokens; }
    [[nodiscard]] uint64_t bytes() const { return resources_.bytes(); }

    // Σ weights · cross entropy. With `divisor` > 0 the gradients of that, divided by it, are added to those in `lora`.
    Task<Result<double>> run(const Sequence& sequence, double divisor, Dropout dropout, const Breathe& breathe);

  private:
    enum class Kind : uint8_t { inputs, forward, backward, loss, gradient };
    struct Key {
        Kind kind;
        uint32_t index;  // of a layer, or of a tile of the head
        bool dropout;
        auto operator<=>(const Key&) const = default;
    };

    GpuPass(gpu::Device& device, std::shared_ptr<infer::GpuModel> model, const Layout& layout,
            const std::vector<LoraBuffers>& lora, GpuPassOptions options);
    Status allocate();
    void write(const Sequence& sequence, double divisor, Dropout dropout);
    Task<Result<gpu::Id>> program(Key key);
    Task<Status> run_program(Key key, const Breathe& breathe);
    void record_inputs(const Recording& r) const;
    void record_layer(const Recording& r, Key key) const;
    [[nodiscard]] const model::Config& config() const { return model_->config(); }

    std::shared_ptr<infer::GpuModel> model_;
    const Layout& layout_;
    const std::vector<LoraBuffers>& lora_;
    GpuPassOptions options_;
    kernels::Resources resources_;
    TrainTensors t_;
    std::vector<SavedActivations> saved_;  // of each layer, or with checkpointing of the one that is being computed
    std::unique_ptr<GpuHead> head_;
    infer::LayerSource source_;
    infer::Pass pass_;
    uint32_t counted_ = 0;  // rows with a loss, of the sequence that was written
    std::map<Key, gpu::Id> programs_;
    uint32_t running_ = 0;  // programs that were started
};

}  // namespace lapidary::train
