// The GPU backend of models of embeddings: many texts of different lengths go through the layers together, one behind the
// other without gaps, and each sees itself alone, in both directions.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <vector>

#include "infer/gpu_programs.h"

namespace lapidary::infer {

class GpuEncoder final : public Runner {
  public:
    // options.context: tokens of a text, at most. options.block: tokens that go through the layers together, unless one text
    // has more: its first token sees its last one, so it cannot be divided.
    static Task<Result<std::unique_ptr<GpuEncoder>>> create(std::shared_ptr<GpuModel> model, GpuOptions options,
                                                            Cancel cancel);

    [[nodiscard]] uint32_t vocabulary() const override { return config().vocabulary; }
    [[nodiscard]] uint32_t context() const override { return options_.context; }
    [[nodiscard]] uint32_t position() const override { return 0; }
    void truncate(uint32_t /*length*/) override {}
    Task<Result<std::vector<float>>> run(std::span<const int32_t> tokens, LogitsWanted wanted,
                                         Breathe breathe) override;
    Task<Status> embed(std::span<const std::vector<int32_t>> texts, OnEmbedded take, Breathe breathe) override;

    [[nodiscard]] std::string state_layout() const override { return "nothing"; }
    [[nodiscard]] uint64_t state_bytes(uint32_t /*positions*/) const override { return 0; }
    Task<Status> save_state(PutState put) override;
    Task<Status> load_state(std::span<const int32_t> tokens, GetState get) override;
    Task<Status> set_adapters(std::span<const lora::Active> active) override;

    [[nodiscard]] uint64_t bytes() const { return resources_.bytes(); }

    // Texts whose vectors are made together, at most.
    static constexpr uint32_t kMaxTexts = 512;
    // Sizes that programs are recorded for; the last one is what the longest text needs.
    static constexpr std::array<uint32_t, 3> kSizes = {16, 128, 512};
    // The tokens' states, and what becomes of them.
    Task<Result<gpu::Id>> layers(uint32_t rows, Cancel cancel);
    Task<Result<gpu::Id>> vectors(uint32_t texts, Cancel cancel);

  private:
    GpuEncoder(std::shared_ptr<GpuModel> model, GpuOptions options, kernels::Variant variant);
    [[nodiscard]] const model::Config& config() const { return model_->config(); }
    [[nodiscard]] Status check(std::span<const std::vector<int32_t>> texts) const;
    Status allocate();
    // From texts[0] on, as many as go through the layers together.
    [[nodiscard]] size_t batch_of(std::span<const std::vector<int32_t>> texts) const;
    [[nodiscard]] uint32_t program_rows(uint32_t tokens) const;
    void write_batch(std::span<const std::vector<int32_t>> texts);
    // [texts, size]
    Task<Result<std::vector<float>>> run_batch(std::span<const std::vector<int32_t>> texts);
    void record_layers(kernels::Program& program, uint32_t rows);
    void record_vectors(kernels::Program& program, uint32_t texts);

    std::shared_ptr<GpuModel> model_;
    GpuOptions options_;
    kernels::Resources resources_;
    uint32_t most_rows_ = 0;
    SessionTensors t_;          // those of them that a layer reads, and ids and xn of most_rows_ rows
    kernels::KvView kv_;        // of the layer that is being computed: no other needs its keys and values
    gpu::Tensor sees_full_;     // [most_rows_] VisibleRow
    gpu::Tensor sees_sliding_;  // likewise
    gpu::Tensor text_step_;     // counts texts
    gpu::Tensor text_rows_;     // [kMaxTexts] of (first row, the one behind the last) that are pooled
    gpu::Tensor embeddings_;    // [kMaxTexts, size]
    std::map<uint32_t, gpu::Id> layer_programs_;   // by rows
    std::map<uint32_t, gpu::Id> vector_programs_;  // by texts
};

}  // namespace lapidary::infer
