// The CPU backend: a Runner on programs that are recorded once.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cpu/adapters.h"
#include "cpu/cpu_ops.h"
#include "cpu/model.h"
#include "model/runner.h"

namespace lapidary::cpu {

struct SoftLayers;
struct SoftPiece;

class Runner final : public lapidary::Runner {
  public:
    // Of a model of embeddings an encoder. The heap under the model lives longer than the runner.
    static Result<std::unique_ptr<lapidary::Runner>> create(std::shared_ptr<Model> model, uint32_t context);

    [[nodiscard]] uint32_t vocabulary() const override { return config().vocabulary; }
    [[nodiscard]] uint32_t context() const override { return context_; }
    [[nodiscard]] uint32_t position() const override { return position_; }
    void truncate(uint32_t length) override;
    Task<Result<std::vector<float>>> run(std::span<const int32_t> tokens, LogitsWanted wanted,
                                         Breathe breathe) override;
    [[nodiscard]] bool takes_soft_tokens() const override { return true; }
    Task<Result<std::vector<float>>> run_soft(SoftTokens soft, LogitsWanted wanted, Breathe breathe) override;
    Task<Status> embed(std::span<const std::vector<int32_t>> texts, OnEmbedded take, Breathe breathe) override;

    [[nodiscard]] std::string state_layout() const override { return "CPU, f32"; }
    [[nodiscard]] uint64_t state_bytes(uint32_t positions) const override;
    Task<Status> save_state(PutState put) override;
    Task<Status> load_state(std::span<const int32_t> tokens, GetState get) override;

    Task<Status> set_adapters(std::span<const lora::Active> active) override;

  private:
    // Rows of logits computed together, at most.
    static constexpr uint32_t kLogitRows = 16;
    // Positions that a sliding layer keeps beyond its window: how far truncate() can go back without forgetting everything.
    static constexpr uint32_t kSlack = 1024;

    struct Program {
        std::vector<Op> ops;
        Address at = 0;
    };
    // A layer's keys or values: position p in row p mod ring.
    struct Cache {
        Address at;
        uint32_t row_bytes;
        uint32_t ring;
        uint32_t most;  // positions worth keeping
    };

    Runner(std::shared_ptr<Model> model, uint32_t context)
        : model_(std::move(model)), context_(context), blocks_(model_->heap()), scratch_(model_->heap()) {}

    [[nodiscard]] const model::Config& config() const { return model_->config(); }
    [[nodiscard]] Machine& machine() const { return model_->heap().machine(); }
    Status prepare();
    Status record();
    Result<Program> placed(CpuOps&& ops);
    [[nodiscard]] Status check(std::span<const int32_t> tokens) const;
    Task<Result<std::vector<float>>> mean_state(std::span<const int32_t> tokens, const Breathe& breathe);
    Task<Status> run_block(std::span<const int32_t> tokens, infer::Depth depth, Breathe breathe);
    // soft.cpp
    Task<Result<std::vector<float>>> run_soft_blocks(SoftTokens soft, LogitsWanted wanted, Breathe breathe);
    Task<Status> run_soft_layers(SoftTokens soft, const Breathe& breathe);
    Status record_soft(uint32_t pieces);
    Status record_piece(SoftPiece& piece);
    Task<Result<std::vector<float>>> soft_logits(uint32_t first, uint32_t count, Breathe breathe);

    Task<Status> execute(const Program& program, uint32_t count, Breathe breathe);
    std::vector<float> read(const gpu::Tensor& from, uint32_t rows) const;
    // What so many positions have in the caches, in pieces that lie next to each other.
    struct Range {
        Address at;
        uint32_t bytes;
    };
    [[nodiscard]] std::vector<Range> ranges(uint32_t positions) const;

    std::shared_ptr<Model> model_;
    uint32_t context_;
    Blocks blocks_;
    Scratch scratch_;
    std::vector<kernels::KvView> kv_;  // of each layer; empty where it stores none
    std::vector<Cache> caches_;
    gpu::Tensor normed_, logits_;
    Address step_ = 0, table_rows_ = 0;
    std::unique_ptr<Adapters> adapters_;
    // With the adapters in use; what they were recorded with.
    std::optional<Blocks> recorded_;
    Program keys_and_values_, all_, head_;
    std::shared_ptr<SoftLayers> soft_;  // null: there have been no soft tokens yet
    uint32_t position_ = 0;
    uint32_t furthest_ = 0;  // the highest position written since the last time everything was forgotten
};

}  // namespace lapidary::cpu
