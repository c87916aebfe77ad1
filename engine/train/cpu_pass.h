// One sequence on its way through the model and back, on the CPU: cpu_forward.cpp, cpu_backward.cpp, cpu_experts.cpp and
// cpu_head.cpp. All arrays are [tokens, …], row-major; h is the residual stream, d its width.
#pragma once

#include <vector>

#include "train/backend.h"
#include "train/cpu_model.h"
#include "train/parameters.h"

namespace lapidary::train {

// The updates that take part, and where their gradients go (empty in a pass that only looks at the loss).
struct Trained {
    const Layout* layout = nullptr;
    std::span<const float> parameters;
    std::span<float> gradients;
    Dropout dropout;
};

// What a layer's backward pass needs of its forward pass. What is cheap to compute again from these (norms, RoPE,
// the attention's weights, the gate's product) is not in it.
struct CpuSavedActivations {
    std::vector<float> h;         // [t, d] what came in
    std::vector<float> q;         // [t, q_width] Wq·x, before its norm
    std::vector<float> k, v;      // [t, kv_width] the same; v is empty where the values are the keys
    std::vector<float> attended;  // [t, q_width]
    std::vector<float> o;         // [t, d] Wo·attended
    std::vector<float> h1;        // [t, d] after attention
    std::vector<float> gate, up;  // [t, ffn]
    std::vector<float> down;      // [t, d] what the dense network gives
    std::vector<float> experts;   // [t, d] what the experts give; empty without
    std::vector<float> h2;        // [t, d] after the networks; empty without per-layer inputs, as the two below
    std::vector<float> ple_gate;  // [t, P]
    std::vector<float> ple;       // [t, d]
};

class CpuPass {
  public:
    CpuPass(const CpuModel& model, const Trained& trained, const Sequence& sequence);

    [[nodiscard]] std::vector<float> embeddings() const;
    // Computes the inputs every layer gets of its own, from the embeddings.
    void prepare(std::span<const float> embeddings);

    // h becomes what the layer gives. Keys and values stay here for the layers that share them.
    CpuSavedActivations forward(uint32_t layer, std::vector<float>& h);
    // dh, the gradient of what the layer gives, becomes that of what came in; or nothing of use when this is the first
    // layer with an update. The layers above, which may share its keys and values, have been through this before.
    void backward(uint32_t layer, const CpuSavedActivations& saved, std::span<float> dh);
    // No layer needs these keys and values any more, or will have them again before it does.
    void forget_keys(uint32_t layer);

    // Σ weight · cross entropy. With `dh` ([t, d], zeros): its gradient, divided by `divisor`.
    Task<Result<double>> loss(std::span<const float> h, double divisor, std::span<float> dh, const Breathe& breathe);

  private:
    struct KeysAndValues {
        std::vector<float> k, v;    // [t, kv_width], after norm and RoPE
        std::vector<float> dk, dv;  // what the layers above have added so far
    };
    struct Routing {
        std::vector<float> in;         // [t, d] what the router sees
        std::vector<float> p;          // [t, experts]
        std::vector<uint32_t> chosen;  // [t, used]
        std::vector<float> share;      // [t, used]
    };
    // The tokens one expert gets, and what it computes on the way.
    struct Assignment {
        std::vector<size_t> slots;  // in `chosen` and `share`
        std::vector<float> z, gate, up, down;
    };

    std::vector<float> apply(uint32_t layer, lora::Target target, std::span<const float> x) const;
    // Adds the gradients of the update, and to dx (unless it is empty) that of x.
    void apply_backward(uint32_t layer, lora::Target target, std::span<const float> x, std::span<const float> dy,
                        std::span<float> dx) const;
    std::vector<float> with_dropout(const Slot& slot, std::span<const float> x) const;

    [[nodiscard]] std::vector<float> normed(std::span<const float> x, std::span<const float> w, uint32_t n) const;
    void norm_backward(std::span<const float> x, std::span<const float> w, uint32_t n, std::span<const float> dy,
                       std::span<float> dx) const;
    void turn(uint32_t layer, std::span<float> x, uint32_t width, bool backwards) const;
    [[nodiscard]] uint32_t visible_from(uint32_t layer, size_t t) const;
    [[nodiscard]] std::vector<float> gated(uint32_t layer, const CpuSavedActivations& saved) const;
    [[nodiscard]] std::vector<float> network_sum(uint32_t layer, const CpuSavedActivations& saved) const;
    [[nodiscard]] std::vector<float> layer_inputs(uint32_t layer) const;

    void attention_forward(uint32_t layer, CpuSavedActivations& saved, std::span<float> h);
    void network_forward(uint32_t layer, CpuSavedActivations& saved, std::span<float> h);
    void per_layer_forward(uint32_t layer, CpuSavedActivations& saved, std::span<float> h);
    void attention_backward(uint32_t layer, const CpuSavedActivations& saved, std::span<float> dh);
    void network_backward(uint32_t layer, const CpuSavedActivations& saved, std::span<float> dh);
    void per_layer_backward(uint32_t layer, const CpuSavedActivations& saved, std::span<float> dh);
    // Whether anything before the layer's networks needs a gradient, or anything before the layer.
    [[nodiscard]] bool needed_before_networks(uint32_t layer) const;
    [[nodiscard]] bool needed_before(uint32_t layer) const { return layer > trained_.layout->lowest_layer(); }

    [[nodiscard]] Routing route(uint32_t layer, std::span<const float> h) const;
    [[nodiscard]] Assignment assigned(uint32_t layer, uint32_t expert, const Routing& routing,
                                      std::span<const float> z) const;
    [[nodiscard]] reference::Matrix expert_matrix(uint32_t layer, uint32_t expert, lora::Target part) const;
    [[nodiscard]] std::vector<float> experts_forward(uint32_t layer, std::span<const float> h) const;
    void experts_backward(uint32_t layer, std::span<const float> h, std::span<const float> dy,
                          std::span<float> dh) const;

    const CpuModel& model_;
    const model::Config& config_;
    const Trained trained_;
    const Sequence& sequence_;
    std::vector<uint32_t> example_;  // [t] where the token's example begins
    RopeTable rope_full_, rope_sliding_;
    std::vector<float> inputs_;  // [t, layers, P]
    std::vector<KeysAndValues> kv_;
};

}  // namespace lapidary::train
