// The weights a model needs, found in the file by either dialect's name, with their shapes checked.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/tensor_type.h"
#include "gguf/header.h"
#include "model/config.h"

namespace lapidary::model {

// One weight. Empty (`!present()`) where the model has none, e.g. attn_v on layers whose values are their keys.
struct Weight {
    std::string name;  // as the file spells it
    TensorType type = TensorType::f32;
    uint64_t cols = 0;    // ne[0]: the contiguous dimension, the input of a linear layer
    uint64_t rows = 1;    // ne[1]: its output
    uint64_t slices = 1;  // ne[2]: experts

    [[nodiscard]] bool present() const { return cols > 0; }
    [[nodiscard]] uint64_t row_bytes() const { return lapidary::row_bytes(type, cols); }
    [[nodiscard]] uint64_t bytes() const { return row_bytes() * rows * slices; }
    [[nodiscard]] uint64_t elements() const { return cols * rows * slices; }
};

// Which part of a text rows are: what is settled, or a canvas whose tokens are still being chosen, all of them together.
enum class Region : uint8_t { prompt, canvas };

// Shapes as [rows, cols] here: attn_q maps d to heads · head_dim, so it is [q_width, d].
struct LayerWeights {
    Weight attn_norm;             // [d]
    Weight attn_q;                // [q_width, d]
    Weight attn_k;                // [kv_width, d]   only where the layer owns its K and V
    Weight attn_v;                // [kv_width, d]   absent where values are the raw keys
    Weight attn_q_norm;           // [head_dim]
    Weight attn_k_norm;           // [head_dim]      only where the layer owns its K and V
    Weight attn_output;           // [d, q_width]
    Weight post_attention_norm;   // [d]
    Weight ffn_norm;              // [d]
    Weight ffn_gate;              // [ffn, d]
    Weight ffn_up;                // [ffn, d]
    Weight ffn_down;              // [d, ffn]
    Weight post_ffw_norm;         // [d]
    Weight layer_output_scale;    // [1]             absent means 1
    Weight encoder_output_scale;  // [1]             of rows that are prompt, where these have a scale of their own

    // Per-layer embeddings (P > 0).
    Weight inp_gate;   // [P, d]
    Weight proj;       // [d, P]
    Weight post_norm;  // [d]

    // Mixture of experts: E experts of width f beside the dense network.
    Weight router;             // [E, d]
    Weight router_scale;       // [d]
    Weight expert_gate_up;     // [E][2f, d]   gate rows, then up rows; or the two below
    Weight expert_gate;        // [E][f, d]
    Weight expert_up;          // [E][f, d]
    Weight expert_down;        // [E][d, f]
    Weight expert_down_scale;  // [E]
    Weight pre_ffw_norm_2;     // [d]
    Weight post_ffw_norm_1;    // [d]
    Weight post_ffw_norm_2;    // [d]

    [[nodiscard]] bool is_moe() const { return router.present(); }
    // What a layer's result is multiplied with: of a prompt, or of a canvas that is still being written.
    [[nodiscard]] const Weight& output_scale(Region region) const {
        return region == Region::prompt && encoder_output_scale.present() ? encoder_output_scale : layer_output_scale;
    }
};

// What makes the pooled state of a text its embedding.
struct DenseWeights {
    Weight first;   // [hidden, d]
    Weight second;  // [size, hidden]
};

// What a canvas is told about the step before, as one more feed-forward network: of a model that writes by canvases.
struct SelfConditioning {
    Weight norm;  // [d]
    Weight gate;  // [f, d]
    Weight up;    // [f, d]
    Weight down;  // [d, f]
};

struct WeightTable {
    std::string architecture = "gemma4";                // the model's: what an adapter in a GGUF file says it is for
    std::string peft_prefix = "model.language_model.";  // where the layers are in the class people load it with
    Weight token_embd;                                  // [V, d]        also the output head when `output` is absent
    Weight output;                                      // [V, d]
    Weight output_norm;                                 // [d]
    Weight rope_freqs;                                  // [head_dim of full layers / 2]
    Weight per_layer_token_embd;                        // [V, P·L]
    Weight per_layer_model_proj;                        // [P·L, d]
    Weight per_layer_proj_norm;                         // [P]
    DenseWeights dense;                                 // only of a model of embeddings
    SelfConditioning self_conditioning;                 // only of a model that writes by canvases
    std::vector<LayerWeights> layers;

    [[nodiscard]] const Weight& head() const { return output.present() ? output : token_embd; }

    // Every weight that is present, in a fixed order.
    void for_each(const std::function<void(const Weight&)>& visit) const;
};

// Finds a tensor of the file by name; null when there is none.
using TensorLookup = std::function<const gguf::TensorInfo*(std::string_view)>;

Result<WeightTable> find_weights(const Config& config, const TensorLookup& lookup);

}  // namespace lapidary::model
