// What a transformer layer is made of: the verbs that a backend has to know. GpuOps records dispatches, fused where one token
// goes through the model and step by step where many do; others may compute at once, or keep what they find for the way back.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "gpu/tensor.h"
#include "kernels/attention/kv_view.h"

namespace lapidary::infer {

class Residual;

// The weights of an RMS norm; empty: there is none.
using Norm = std::vector<float>;

// The matrices of a model, by what they do; those that read the same x together. An adapter updates any of them.
enum class Linear : uint8_t { qkv, o, gate_up, down, inp_gate, proj, token_embd, output };
struct LinearOf {
    uint32_t layer = 0;
    Linear which = Linear::qkv;
};

// What flash_decode leaves: of every head the output of each split of the keys, and how to weigh them.
struct Splits {
    gpu::Tensor values, stats;
    uint32_t head_dim = 0;
    uint32_t window = 0;
    uint32_t max_splits = 1;
};

// What a product reads: a tensor that is there, or something that whoever reads it can make by itself, in the prologue of
// its kernel or by a dispatch of its own: a norm of the residual stream, or attention's splits, merged.
struct Activation {
    gpu::Tensor ready = {};
    Residual* stream = nullptr;  // rms(stream; norm), or the stream itself where the norm is empty
    Norm norm = {};
    std::optional<Splits> splits = {};
};

// One layer's attention: its shape, and where its keys and values are.
struct Attention {
    uint32_t layer = 0;
    kernels::HeadShape shape;
    kernels::KvView kv;
    kernels::Visible visible;
    uint32_t max_keys = 0;  // that a row can see
    bool sliding = false;
    bool owns_kv = true;           // else another layer has stored them
    bool values_are_keys = false;  // values are the raw keys
    bool norms_values = true;
};

struct Experts {
    uint32_t layer = 0;
    Norm router_scale;
    Norm norm;  // of what the experts read
    std::vector<float> scales;
};

class Ops {
  public:
    Ops() = default;
    Ops(const Ops&) = delete;
    Ops& operator=(const Ops&) = delete;
    virtual ~Ops() = default;

    // W · x, with what adapters add. [rows, the matrices' rows side by side]
    virtual gpu::Tensor linear(LinearOf which, const Activation& x) = 0;
    // gelu(gate · x) ⊙ (up · x), in the form that `reader` takes.
    virtual Activation gelu_gate(LinearOf which, const Activation& x, LinearOf reader) = 0;
    // gelu(W · x) ⊙ the layer's own input.
    virtual Activation gelu_times_input(LinearOf which, const Activation& x) = 0;
    // Q and K normed and rotated, K and V stored, softmax(q · Kᵀ) · V.
    virtual Activation attend(const Attention& attention, gpu::Tensor qkv) = 0;
    // The first half of that: what later tokens will read.
    virtual void store_keys(const Attention& attention, gpu::Tensor qkv) = 0;
    // The experts that the router chooses for each row, weighted. h: the residual stream, with nothing pending.
    virtual gpu::Tensor experts(const Experts& experts, gpu::Tensor h) = 0;
    // Adds what is pending to the stream, now. → rms(h; next) where there is a norm, else h. y: where that goes, if it matters.
    virtual gpu::Tensor add_rms_norm(Residual& stream, const Norm& next, gpu::Tensor y) = 0;
    // Whether two branches have to be added at once, because products add only one on their way.
    [[nodiscard]] virtual bool adds_branches_at_once() const = 0;
};

}  // namespace lapidary::infer
