// The verbs of a layer as dispatches. One token takes as few as possible: what lies between two products runs in the
// workgroups of the second one, because a dispatch costs 2 µs on an H200 before it does anything. Of many tokens, or with
// adapters, every verb is a dispatch or a few.
#pragma once

#include "infer/gpu_adapters.h"
#include "infer/gpu_model.h"
#include "infer/session_tensors.h"
#include "infer/transformer_layer.h"
#include "kernels/gemv/gemv_persistent.h"
#include "kernels/program.h"

namespace lapidary::infer {

class GpuOps : public Ops {
  public:
    // rows: tokens that go through the layers together, at most. adapters: none, or those in use.
    GpuOps(kernels::Program& program, const GpuModel& model, const SessionTensors& tensors, uint32_t context,
           uint32_t rows, GpuAdapters* adapters)
        : program_(program), model_(model), t_(tensors), context_(context), rows_(rows), adapters_(adapters) {}

    // The stream that begins with these rows, and each layer's own inputs, where the model has any.
    [[nodiscard]] Residual begin(gpu::Tensor embedded, gpu::Tensor inputs);

    gpu::Tensor linear(LinearOf which, const Activation& x) override;
    Activation gelu_gate(LinearOf which, const Activation& x, LinearOf reader) override;
    Activation gelu_times_input(LinearOf which, const Activation& x) override;
    Activation attend(const Attention& attention, gpu::Tensor qkv) override;
    void store_keys(const Attention& attention, gpu::Tensor qkv) override;
    gpu::Tensor experts(const Experts& experts, gpu::Tensor h) override;
    gpu::Tensor add_rms_norm(Residual& stream, const Norm& next, gpu::Tensor y) override;
    [[nodiscard]] bool adds_branches_at_once() const override { return is_fused(); }

    // y = W · x with x as floats: of the model's other matrices, for whoever embeds tokens or wants logits.
    void multiply(const kernels::Weights& w, gpu::Tensor x, gpu::Tensor y,
                  kernels::Epilogue epilogue = kernels::Store{});
    // y = gelu(gate · x) ⊙ (up · x), of a matrix with gate's rows and then up's.
    void multiply_gated(const kernels::Weights& w, gpu::Tensor x, gpu::Tensor y);
    // What the adapters in use add to that.
    void adapt(LinearOf which, gpu::Tensor x, gpu::Tensor y);
    [[nodiscard]] bool is_adapted(LinearOf which) const {
        return adapters_ != nullptr && adapters_->updates(which).rank > 0;
    }

  protected:
    // Which experts each row goes to, with which weights, and what they read.
    struct Routed {
        gpu::Tensor ids, weights, x;
    };
    Routed route(const Experts& experts, gpu::Tensor h);

    [[nodiscard]] const model::Config& config() const { return model_.config(); }

    kernels::Program& program_;
    const GpuModel& model_;
    const SessionTensors& t_;
    uint32_t context_;
    uint32_t rows_;
    GpuAdapters* adapters_;

  private:
    // A product's matrices and result: where the result's rows begin in a row of y, and what is done with them.
    struct Product {
        const kernels::Weights* w = nullptr;
        const kernels::Weights* below = nullptr;  // more rows in another format
        gpu::Tensor y;
        uint64_t y_offset = 0;
        kernels::Epilogue epilogue = kernels::Store{};
        uint64_t out = 0;  // rows of the result; 0: the matrix's own
        std::optional<kernels::ExpertRows> experts = {};
        uint32_t max_addends = 1;  // rows of y whose sum may be the result

        [[nodiscard]] bool takes_all_rows() const { return is_gelu_gate(epilogue) || experts.has_value(); }
    };

    [[nodiscard]] bool is_fused() const { return rows_ == 1 && adapters_ == nullptr; }
    [[nodiscard]] bool takes_limbs(const kernels::Weights& w) const;
    [[nodiscard]] bool makes_its_x(const kernels::Weights& w) const;
    // The products of a linear verb whose result is y.
    [[nodiscard]] std::vector<Product> products_of(LinearOf which, gpu::Tensor y) const;
    [[nodiscard]] const kernels::Weights& matrix_of(LinearOf which) const;
    // A tensor for a verb's result.
    gpu::Tensor result_of(LinearOf which);
    gpu::Tensor limbs(std::string_view name, uint64_t elements);
    // How many rows may stand for their sum in a verb's result.
    [[nodiscard]] uint32_t max_addends(LinearOf which) const;
    // gelu(W · x) ⊙ the layer's input, as an epilogue.
    [[nodiscard]] kernels::GeluTimes times_input(uint32_t layer) const;
    // Whether a product that comes after this one, and reads it as limbs, can have it from its workgroups.
    [[nodiscard]] bool leaves_limbs(LinearOf gate_up, LinearOf reader) const;

    // Every product there is ends here. → rows of y whose sum is the result
    uint32_t multiply(Product p, const Activation& x);
    // x is floats: in the product's workgroups it becomes what they want, or by a dispatch before.
    uint32_t multiply_floats(const Product& p, gpu::Tensor x);
    // x is in the form that the product takes.
    uint32_t multiply_ready(const Product& p, gpu::Tensor x);
    // rms(stream; norm), by the product's own workgroups where all of them can, or by a dispatch.
    void multiply_normed(std::vector<Product> products, Residual& stream, const Norm& norm);
    void multiply_splits(const Product& p, const Splits& splits);
    void gemv(const Product& p, gpu::Tensor x, const kernels::Prologue& prologue);
    [[nodiscard]] std::optional<kernels::PersistentTiling> persistent_tiling(const Product& p) const;
    // What is pending is added, and y, as floats or as limbs, is the norm of the result.
    gpu::Tensor normed_into(Residual& stream, const Norm& next, gpu::Tensor y);
    void norm_rows(gpu::Tensor h, const Norm& norm, gpu::Tensor y, float scale = 1);
    void qk_norm_rope_store(const Attention& attention, gpu::Tensor qkv);
    Splits flash_decode(const Attention& attention, gpu::Tensor qkv);

    gpu::Tensor inputs_ = {};      // [rows, layers · P]
    gpu::Tensor rope_table_ = {};  // (cos, sin) of every pair at the token, of full and of sliding layers
};

}  // namespace lapidary::infer
