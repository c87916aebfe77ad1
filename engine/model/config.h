// What kind of Gemma a file holds: the sizes of everything, read from its metadata and checked.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/canvas_settings.h"
#include "base/error.h"
#include "gguf/file.h"

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

// Both run through the same layer; what differs is data in Config. The family says what a vocabulary, a template and an
// adapter are called.
enum class Family : uint8_t { gemma4, gemma3 };

// How the states of all tokens become the one vector of a text.
enum class Pooling : uint8_t { mean, first, last };

// What makes a model one that settles a canvas of tokens at a time: what the file recommends for that.
struct DiffusionConfig {
    uint32_t canvas = 0;  // tokens of a canvas
    CanvasSettings settings;
};

// What makes a model one of embeddings: every token sees all others, or those near it, and the pooled state goes through
// two matrices.
struct EmbeddingConfig {
    Pooling pooling = Pooling::mean;
    uint32_t hidden = 0;  // what the first matrix gives and the second one takes
    uint32_t size = 0;    // of an embedding
};

// What the table of tensors says about a model beyond its metadata.
struct TensorFacts {
    uint64_t embedding_rows = 0;   // of token_embd; 0: there is none
    bool towers = false;           // of images: a single file with everything, as Ollama's are
    uint64_t dense_hidden = 0;     // rows of an embedding model's first matrix; 0: there is none
    uint64_t dense_size = 0;       // rows of its second
    bool dense_in_gemma3 = false;  // they are called as the embedding model is that calls itself 'gemma3'

    void look_at(const gguf::TensorInfo& tensor);
};

struct Config {
    std::string architecture = "gemma4";
    std::string name;     // general.name, may be empty
    std::string variant;  // "E2B", "E4B", "12B", "26B-A4B", "31B"; "270M", "1B", … of Gemma 3; or "custom"
    Family family = Family::gemma4;
    std::optional<EmbeddingConfig> embedding;  // a model of embeddings, not of text
    std::optional<DiffusionConfig> diffusion;  // a model that writes by canvases
    uint32_t width = 0;                        // d: the residual stream
    uint32_t vocabulary = 0;
    uint32_t context_length = 0;
    uint32_t sliding_window = 0;    // counts the token itself; of an embedding model, half of it on either side
    uint32_t per_layer_width = 0;   // P: per-layer embeddings (E2B, E4B); 0: none
    uint32_t shared_kv_layers = 0;  // trailing layers that reuse a donor's K and V
    float norm_epsilon = 1e-6f;
    float rope_base_full = 1e6f;
    float rope_base_sliding = 1e4f;
    float rotary_fraction_full = 0.25f;  // used only when the file has no rope_freqs
    float rope_factor_full = 1.0f;       // full layers rotate by the position divided by this
    float attention_scale = 1.0f;        // what q · k is multiplied with
    bool is_blob = false;                // Gemma 3: written by Ollama
    bool norms_values = true;            // V goes through a norm without weights
    float logit_softcap = 30.0f;         // 0: none
    ExpertConfig experts;
    std::vector<LayerConfig> layers;
    std::vector<int32_t> suppress_tokens;  // never sampled
    SamplingHints sampling;

    // E2B and E4B: their chat prompt differs from the larger models' (no empty thought when thinking is off).
    [[nodiscard]] bool is_small() const { return per_layer_width > 0; }
    [[nodiscard]] bool owns_kv(uint32_t layer) const { return layers[layer].kv_layer == layer; }
};

// Refuses models of embeddings: they have no next token.
Status check_writes_text(const Config& config);

// Refuses, by name, every architecture but those of the two families.
Status check_architecture(const gguf::Header& header);

// Of a model whose tensors are all in the file of this header.
Result<Config> read_config(const gguf::Header& header);
Result<Config> read_config(const gguf::File& file);

}  // namespace lapidary::model
