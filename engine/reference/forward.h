// The forward pass on the CPU in f32: the oracle every other backend is compared with, and the backend `cpu`.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "lora/adapter.h"
#include "model/config.h"
#include "model/runner.h"
#include "model/weights.h"
#include "reference/kv_cache.h"
#include "reference/small_weights.h"
#include "reference/weights.h"

namespace lapidary::reference {

// Called with the residual stream of the last position: before layer N for N < layers, after the final norm for
// N = layers.
using HiddenTrace = std::function<void(uint32_t layer, std::span<const float> hidden)>;

class Forward final : public Runner {
  public:
    Forward(std::shared_ptr<const model::Config> config, std::shared_ptr<const model::WeightTable> table,
            std::shared_ptr<const Weights> weights, uint32_t context);

    [[nodiscard]] uint32_t vocabulary() const override { return config_->vocabulary; }
    [[nodiscard]] uint32_t context() const override { return context_; }
    [[nodiscard]] uint32_t position() const override { return position_; }
    void truncate(uint32_t length) override;
    Task<Result<std::vector<float>>> run(std::span<const int32_t> tokens, LogitsWanted wanted,
                                         Breathe breathe) override;
    Task<Result<std::vector<float>>> embed(std::span<const int32_t> tokens, Breathe breathe) override;

    [[nodiscard]] std::string state_layout() const override { return "f32, every position"; }
    [[nodiscard]] uint64_t state_bytes(uint32_t positions) const override;
    Task<Status> save_state(PutState put) override;
    Task<Status> load_state(std::span<const int32_t> tokens, GetState get) override;

    Task<Status> set_adapters(std::span<const lora::Active> active) override;

    void set_trace(HiddenTrace trace) { trace_ = std::move(trace); }

  private:
    Status check(std::span<const int32_t> tokens) const;
    // What a block of tokens becomes: [t, width] before the final norm.
    Task<Result<std::vector<float>>> run_block(std::span<const int32_t> tokens, Breathe breathe);
    // Block after block; `take` gets what each becomes, and whether it is the last.
    using OnBlock = std::function<void(std::span<const float> hidden, bool last)>;
    Task<Status> run_blocks(std::span<const int32_t> tokens, OnBlock take, Breathe breathe);
    std::vector<float> embeddings(std::span<const int32_t> tokens) const;
    std::vector<float> per_layer_inputs(std::span<const int32_t> tokens, std::span<const float> h) const;
    void attention_block(uint32_t layer, std::span<float> h);
    void ffn_block(uint32_t layer, std::span<float> h) const;
    std::vector<float> dense_ffn(uint32_t layer, std::span<const float> u) const;
    std::vector<float> experts(uint32_t layer, std::span<const float> h) const;
    void per_layer_block(uint32_t layer, std::span<const float> inputs, std::span<float> h) const;
    std::vector<float> normed(std::span<const float> h) const;
    std::vector<float> head(std::span<const float> h) const;
    std::vector<float> apply(const model::Weight& weight, std::span<const float> x) const;
    // With what the adapters add.
    std::vector<float> apply(uint32_t layer, lora::Target target, std::span<const float> x) const;
    // Updates of one matrix, by all adapters that take part.
    struct Term {
        const lora::Update* update;
        float scale;
    };
    [[nodiscard]] std::span<const Term> terms(uint32_t layer, lora::Target target) const;
    void trace(uint32_t layer, std::span<const float> h) const;

    std::shared_ptr<const model::Config> config_;
    std::shared_ptr<const model::WeightTable> table_;
    std::shared_ptr<const Weights> weights_;
    uint32_t context_;
    uint32_t position_ = 0;
    KvCache cache_;
    HiddenTrace trace_;
    std::vector<lora::Active> adapters_;
    std::vector<std::vector<Term>> terms_;  // [layer, target]; empty without adapters
    std::vector<LayerVectors> vectors_;
    std::vector<float> output_norm_;
    std::vector<float> per_layer_proj_norm_;
    std::vector<double> rope_full_;
    std::vector<double> rope_sliding_;
};

}  // namespace lapidary::reference
