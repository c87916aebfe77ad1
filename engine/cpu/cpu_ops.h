// The verbs of a layer as ops of the CPU backend. A program is recorded once and run for any number of rows.
#pragma once

#include <string_view>
#include <vector>

#include "cpu/adapters.h"
#include "cpu/model.h"
#include "infer/residual.h"
#include "infer/transformer_layer.h"

namespace lapidary::cpu {

// What programs of a session compute in, by name: they run one after the other, and so do layers.
class Scratch {
  public:
    explicit Scratch(Heap& heap) : blocks_(heap) {}
    // At least so large; what it held before is lost. name: a literal.
    Result<Address> take(std::string_view name, uint64_t bytes);

  private:
    struct Place {
        std::string_view name;
        Address at = 0;
        uint64_t bytes = 0;
    };
    Blocks blocks_;
    std::vector<Place> places_;
};

class CpuOps final : public infer::Ops {
  public:
    // rows: tokens that go through the program together, at most. adapters: null, or those in use. kept: where something is that
    // other programs must not touch between two parts of this one, the stream, queries and angles; null: there are none.
    CpuOps(Model& model, Scratch& scratch, const Adapters* adapters, uint32_t rows, Scratch* kept = nullptr)
        : model_(model), scratch_(scratch), adapters_(adapters), kept_(kept), rows_(rows) {}

    // h = √d · E[ids], and each layer's own inputs where the model has any; angles of the rows' positions. table_rows: where rows
    // of the table of per-layer embeddings are put that is not in memory. soft: where rows of the stream are that no token stands
    // for; 0: the tokens' rows are looked up.
    infer::Residual begin(Address table_rows, Address soft = 0);
    // Soft-capped logits of rows of x.
    void head(gpu::Tensor x, gpu::Tensor logits);
    // y = W · x, of matrices that belong to no layer.
    void multiply_all(const Stack& stack, gpu::Tensor x, gpu::Tensor y);

    gpu::Tensor linear(infer::LinearOf which, const infer::Activation& x) override;
    infer::Activation gelu_gate(infer::LinearOf which, const infer::Activation& x, infer::LinearOf reader) override;
    infer::Activation gelu_times_input(infer::LinearOf which, const infer::Activation& x) override;
    infer::Activation attend(const infer::Attention& attention, gpu::Tensor qkv) override;
    void store_keys(const infer::Attention& attention, gpu::Tensor qkv) override;
    gpu::Tensor experts(const infer::Experts& experts, gpu::Tensor h) override;
    gpu::Tensor add_rms_norm(infer::Residual& stream, const infer::Norm& next, gpu::Tensor y) override;
    [[nodiscard]] bool adds_branches_at_once() const override { return false; }

    // What was recorded, or what went wrong on the way.
    Result<std::vector<Op>> take() &&;

  private:
    [[nodiscard]] const model::Config& config() const { return model_.config(); }
    gpu::Tensor scratch(std::string_view name, uint64_t rows, uint64_t cols);
    gpu::Tensor kept(std::string_view name, uint64_t rows, uint64_t cols);
    Address place(const std::vector<float>& values);
    Address keep(Result<Address> address);
    // x as the product with a matrix wants it: its digits, or itself.
    Rows input_for(Form form, gpu::Tensor x, uint32_t per_token, Digits& digits);
    void multiply(const Stack& stack, infer::LinearOf which, gpu::Tensor x, gpu::Tensor y);
    void adapt(infer::LinearOf which, gpu::Tensor x, gpu::Tensor y);
    void multiply_experts(const ExpertMatrices& matrices, gpu::Tensor ids, gpu::Tensor x, bool per_slot, gpu::Tensor y,
                          uint32_t y_at);
    void heads(const infer::Attention& attention, gpu::Tensor qkv, bool with_queries);
    void norm_rows(gpu::Tensor h, const infer::Norm& norm, gpu::Tensor y, float scale);

    Model& model_;
    Scratch& scratch_;
    const Adapters* adapters_;
    Scratch* kept_;
    uint32_t rows_;
    std::vector<Op> ops_;
    Status status_;
    gpu::Tensor inputs_ = {};  // [rows, layers · P]
    Address angles_full_ = 0, angles_sliding_ = 0;
};

}  // namespace lapidary::cpu
