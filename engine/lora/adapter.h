// A LoRA adapter: small updates of some of a model's matrices. Every file format is read into this and written from it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "model/weights.h"

namespace lapidary::lora {

// The matrix an update belongs to.
enum class Target : uint8_t { q, k, v, o, gate, up, down, inp_gate, proj, token_embd, output };

// y = W·x + scale · B·(A·x)
struct Update {
    uint32_t layer = 0;  // 0 for token_embd and output, which no layer has
    Target target = Target::q;
    uint32_t rank = 0;
    uint32_t in = 0;       // of A: W's columns
    uint32_t out = 0;      // of B: W's rows
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
};

// "attn_q", "ffn_down": the middle of the tensor's name in a GGUF file.
std::string_view name_of(Target target);

// The matrix an update belongs to, or null when the model has no such layer or matrix.
const model::Weight* weight_of(const model::WeightTable& table, uint32_t layer, Target target);

}  // namespace lapidary::lora
