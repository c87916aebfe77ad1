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
// Called with what a text becomes in a model of embeddings: its states after the final norm ("hidden", a row a token),
// "pooled", and behind each matrix, "dense2" and "dense3".
using EmbeddingTrace = std::function<void(std::string_view stage, std::span<const float> values)>;

class Canvas;

class Forward final : public Runner {
  public:
    Forward(std::shared_ptr<const model::Config> config, std::shared_ptr<const model::WeightTable> table,
            std::shared_ptr<const Weights> weights, uint32_t context);
    ~Forward() override;

    [[nodiscard]] uint32_t vocabulary() const override { return config_->vocabulary; }
    [[nodiscard]] uint32_t context() const override { return context_; }
    [[nodiscard]] uint32_t position() const override { return position_; }
    void truncate(uint32_t length) override;
    Task<Result<std::vector<float>>> run(std::span<const int32_t> tokens, LogitsWanted wanted,
                                         Breathe breathe) override;
    [[nodiscard]] bool takes_soft_tokens() const override { return true; }
    Task<Result<std::vector<float>>> run_soft(SoftTokens soft, LogitsWanted wanted, Breathe breathe) override;
    Task<Status> embed(std::span<const std::vector<int32_t>> texts, OnEmbedded take, Breathe breathe) override;

    [[nodiscard]] std::string state_layout() const override { return "f32, every position"; }
    [[nodiscard]] uint64_t state_bytes(uint32_t positions) const override;
    Task<Status> save_state(PutState put) override;
    Task<Status> load_state(std::span<const int32_t> tokens, GetState get) override;

    Task<Status> set_adapters(std::span<const lora::Active> active) override;

    CanvasRunner* canvas() override;

    void set_trace(HiddenTrace trace) { trace_ = std::move(trace); }
    void set_trace(EmbeddingTrace trace) { embedding_trace_ = std::move(trace); }

  private:
    friend class Canvas;

    Task<Result<std::vector<float>>> run_soft_blocks(SoftTokens soft, LogitsWanted wanted, Breathe breathe);

    // A token of a block: its place in its text, that of its key in the cache, and where its text's keys are that it may
    // see where there is no window.
    struct Row {
        uint32_t position, key, first, end;
        uint32_t sliding_end =
            0;  // of the keys behind it that it sees on sliding layers whatever their window; 0: of none
    };
    Status check(std::span<const int32_t> tokens) const;
    // The rows of tokens that go on with the one text that the cache holds.
    [[nodiscard]] std::vector<Row> next_rows(size_t tokens) const;
    // The keys that a row sees, as [first, end).
    [[nodiscard]] std::pair<uint32_t, uint32_t> visible(const model::LayerConfig& shape, const Row& row) const;
    // What a block of tokens becomes: [t, width] before the final norm.
    Task<Result<std::vector<float>>> run_block(std::span<const int32_t> tokens, std::span<const Row> rows,
                                               Breathe breathe);
    // The same of rows of the stream; tokens: whose per-layer embeddings they have.
    Task<Result<std::vector<float>>> run_rows(std::vector<float> h, std::span<const int32_t> tokens,
                                              std::span<const Row> rows, Breathe breathe);
    // What is wanted of a block's logits, at the end of `logits`.
    void add_logits(std::span<const float> hidden, LogitsWanted wanted, bool last, std::vector<float>& logits) const;
    // Block after block; `take` gets what each becomes, and whether it is the last.
    using OnBlock = std::function<void(std::span<const float> hidden, bool last)>;
    Task<Status> run_blocks(std::span<const int32_t> tokens, OnBlock take, Breathe breathe);
    // forward_embed.cpp: several texts in one block, each seeing itself in both directions, and what becomes of the states.
    Task<Status> embed_block(std::span<const std::vector<int32_t>> texts, size_t first, const OnEmbedded& take,
                             Breathe breathe);
    [[nodiscard]] std::vector<float> embedding_of(std::span<const float> states) const;
    // A model of text: the mean of its states.
    Task<Result<std::vector<float>>> mean_state(std::span<const int32_t> tokens, Breathe breathe);
    void trace(std::string_view stage, std::span<const float> values) const;
    std::vector<float> embeddings(std::span<const int32_t> tokens) const;
    std::vector<float> per_layer_inputs(std::span<const int32_t> tokens, std::span<const float> h) const;
    // h through all layers; their keys and values are appended to the caches.
    Task<Status> run_layers(std::span<float> h, std::span<const Row> rows, std::span<const float> inputs,
                            model::Region region, Breathe breathe);
    void attention_block(uint32_t layer, std::span<const Row> rows, std::span<float> h);
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
    EmbeddingTrace embedding_trace_;
    std::vector<lora::Active> adapters_;
    std::vector<std::vector<Term>> terms_;  // [layer, target]; empty without adapters
    std::vector<LayerVectors> vectors_;
    std::vector<float> output_norm_;
    std::vector<float> per_layer_proj_norm_;
    std::vector<float> self_conditioning_norm_;
    std::vector<double> rope_full_;
    std::vector<double> rope_sliding_;
    std::unique_ptr<Canvas> canvas_;
};

}  // namespace lapidary::reference
