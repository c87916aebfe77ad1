// What kind of Gemma 4 a file holds: the sizes of everything, read from its metadata and checked.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "gguf/header.h"

namespace lapidary::model {

// One transformer layer. Layers differ: sliding or full attention, width of the FFN, whether they store K and V.
struct LayerConfig {
    bool sliding = false;   // attends to the last `sliding_window` positions only
    uint32_t heads = 0;     // query heads
    uint32_t kv_heads = 0;  // each serves heads / kv_heads query heads
    uint32_t head_dim = 0;
    uint32_t ffn = 0;       // width of the dense feed-forward network
    uint32_t kv_layer = 0;  // the layer whose K and V this one attends to: itself, or a donor before it

    [[nodiscard]] uint32_t q_width() const { return heads * head_dim; }
    [[nodiscard]] uint32_t kv_width() const { return kv_heads * head_dim; }
};

struct ExpertConfig {
    uint32_t count = 0;  // 0: no mixture of experts
    uint32_t used = 0;   // experts a token is sent to
    uint32_t ffn = 0;
};

// What the file recommends; empty where it says nothing.
struct SamplingHints {
    std::optional<float> temperature;
    std::optional<int32_t> top_k;
    std::optional<float> top_p;
};

struct Config {
    std::string name;     // general.name, may be empty
    std::string variant;  // "E2B", "E4B", "12B", "26B-A4B", "31B", or "custom"
    uint32_t width = 0;   // d: the residual stream
    uint32_t vocabulary = 0;
    uint32_t context_length = 0;
    uint32_t sliding_window = 0;    // counts the token itself
    uint32_t per_layer_width = 0;   // P: per-layer embeddings (E2B, E4B); 0: none
    uint32_t shared_kv_layers = 0;  // trailing layers that reuse a donor's K and V
    float norm_epsilon = 1e-6f;
    float rope_base_full = 1e6f;
    float rope_base_sliding = 1e4f;
    float rotary_fraction_full = 0.25f;  // used only when the file has no rope_freqs
    float logit_softcap = 30.0f;         // 0: none
    ExpertConfig experts;
    std::vector<LayerConfig> layers;
    std::vector<int32_t> suppress_tokens;  // never sampled
    SamplingHints sampling;

    // E2B and E4B: their chat prompt differs from the larger models' (no empty thought when thinking is off).
    [[nodiscard]] bool is_small() const { return per_layer_width > 0; }
    [[nodiscard]] bool owns_kv(uint32_t layer) const { return layers[layer].kv_layer == layer; }
};

// Refuses, by name, every architecture but `gemma4`.
Status check_architecture(const gguf::Header& header);

Result<Config> read_config(const gguf::Header& header);

}  // namespace lapidary::model
