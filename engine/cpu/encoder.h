// The CPU backend of models of embeddings: many texts of different lengths lie one behind the other and go through the layers
// together, in pieces of as many rows as a program takes. Every piece has stored a layer's keys and values before any looks
// at them, because a text's first token sees its last one.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "cpu/cpu_ops.h"
#include "cpu/model.h"
#include "model/runner.h"

namespace lapidary::cpu {

class Encoder final : public lapidary::Runner {
  public:
    // context: tokens of a text, at most. The heap under the model lives longer than the encoder.
    static Result<std::unique_ptr<Encoder>> create(std::shared_ptr<Model> model, uint32_t context);

    [[nodiscard]] uint32_t vocabulary() const override { return config().vocabulary; }
    [[nodiscard]] uint32_t context() const override { return context_; }
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

  private:
    // The keys that a row sees, as attention reads it.
    struct Sight {
        uint32_t first, end;
    };
    // kMaxRows rows of a batch on their way through the layers.
    struct Piece {
        explicit Piece(Heap& heap) : kept(heap), blocks(heap) {}
        Scratch kept;  // what other pieces must not touch while they have their turn
        Blocks blocks;
        Address step = 0, sees_full = 0, sees_sliding = 0, ops = 0;
        std::vector<uint32_t> ends;  // of the parts between which others have their turn, in ops
    };
    using Texts = std::span<const std::vector<int32_t>>;

    Encoder(std::shared_ptr<Model> model, uint32_t context)
        : model_(std::move(model)), context_(context), blocks_(model_->heap()), scratch_(model_->heap()) {}

    [[nodiscard]] const model::Config& config() const { return model_->config(); }
    [[nodiscard]] Machine& machine() const { return model_->heap().machine(); }
    Status prepare();
    [[nodiscard]] Status check(Texts texts) const;
    Result<gpu::Tensor> tensor(uint32_t rows, uint32_t cols);
    // Records those pieces that are not there yet.
    Status make_pieces(uint32_t count);
    Status record(Piece& piece, uint32_t first_row);
    Status record_dense();
    void write_rows(Texts texts);
    Task<Status> run_layers(uint32_t tokens, Breathe breathe);
    // The pooled states of a batch become its vectors, as many at a time as a program takes.
    Task<Result<std::vector<float>>> vectors(std::vector<float> means, uint32_t count);
    [[nodiscard]] std::vector<float> pooled(uint32_t first, uint32_t end) const;

    std::shared_ptr<Model> model_;
    uint32_t context_;
    uint32_t most_rows_ = 0;
    Blocks blocks_;
    Scratch scratch_;
    // Keys and values of the layer that is being read, and of the next one, which is being stored.
    kernels::KvView kv_[2];
    gpu::Tensor normed_;                     // [most_rows_, width]
    gpu::Tensor pooled_, hidden_, vectors_;  // [kMaxRows, …]
    Address dense_step_ = 0, dense_ops_ = 0;
    uint32_t dense_count_ = 0;
    std::deque<Piece> pieces_;
};

}  // namespace lapidary::cpu
