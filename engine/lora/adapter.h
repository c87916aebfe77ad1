// A LoRA adapter: small updates of some of a model's matrices. Every file format is read into this and written from it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/weights.h"

namespace lapidary::lora {

// The matrix an update belongs to.
enum class Target : uint8_t { q, k, v, o, gate, up, down, inp_gate, proj, token_embd, output };
inline constexpr size_t kTargets = 11;

inline constexpr uint32_t kMaxRank = 256;
// Adapters that may take part at the same time.
inline constexpr size_t kMaxActive = 64;

// y = W·x + scale · B·(A·x)
//
// The embedding's rows are looked up, not multiplied: there x is the token as a row of zeros with a single one, so that
// token_embd has `in` = the vocabulary and `out` = the model's width, and token t's row gets scale · B·A[:, t] before it
// is scaled by sqrt(width). `output` is the head, with its logits before the soft-cap: `in` = width, `out` = vocabulary;
// in a model whose head is the embedding the two are still updated each by itself.
struct Update {
    uint32_t layer = 0;  // 0 for token_embd and output, which no layer has
    Target target = Target::q;
    uint32_t rank = 0;
    uint32_t in = 0;       // of A: W's columns (token_embd: its rows)
    uint32_t out = 0;      // of B: W's rows (token_embd: its columns)
    float scale = 1;       // alpha / rank, or alpha / sqrt(rank); what a person asks for at run time multiplies it
    std::vector<float> a;  // [rank, in]
    std::vector<float> b;  // [out, rank]
};

struct Adapter {
    std::string name;
    std::string base_model;       // what it says it was trained on; may be empty
    float alpha = 0;              // as its file has it; the updates' scales are what counts
    std::vector<Update> updates;  // by layer, then by target; none twice
};

// An adapter that takes part, and how much.
struct Active {
    std::shared_ptr<const Adapter> adapter;
    float scale = 1;

    // Compares which adapter it is, not what is in it.
    bool operator==(const Active& other) const = default;
};

// "attn_q", "ffn_down": the middle of the tensor's name in a GGUF file.
std::string_view name_of(Target target);
// The other way; also the names other programs use: "q_proj", "per_layer_input_gate", "embed_tokens", "lm_head".
std::optional<Target> target_from(std::string_view name);
// Whether the target is a matrix of a layer; token_embd and output are not.
bool in_layer(Target target);
// "blk.3.attn_q", "token_embd": what errors and lists call it.
std::string label_of(uint32_t layer, Target target);
inline std::string label_of(const Update& update) {
    return label_of(update.layer, update.target);
}

// The matrix an update belongs to, or null when the model has no such layer or matrix.
const model::Weight* weight_of(const model::WeightTable& table, uint32_t layer, Target target);

// What A and B of an update must have.
struct UpdateShape {
    uint32_t in = 0;
    uint32_t out = 0;
};
std::optional<UpdateShape> shape_of(const model::WeightTable& table, uint32_t layer, Target target);

// Whether every update belongs to a matrix of this model, has its shape and a rank we take, and none is there twice.
Status check_fits(const Adapter& adapter, const model::WeightTable& table);
Status check_fits(std::span<const Active> active, const model::WeightTable& table);

// y: [t, out] += scale · update's scale · B·(A·x), x: [t, in]. Not for token_embd, whose rows are looked up:
void add_update(const Update& update, float scale, std::span<const float> x, std::span<float> y);
// row: [width] += scale · update's scale · B·A[:, token]
void add_embedding_update(const Update& update, float scale, int32_t token, std::span<float> row);

}  // namespace lapidary::lora
