#include "lora/adapter.h"

namespace lapidary::lora {

std::string_view name_of(Target target) {
    switch (target) {
        case Target::q: return "attn_q";
        case Target::k: return "attn_k";
        case Target::v: return "attn_v";
        case Target::o: return "attn_output";
        case Target::gate: return "ffn_gate";
        case Target::up: return "ffn_up";
        case Target::down: return "ffn_down";
        case Target::inp_gate: return "inp_gate";
        case Target::proj: return "proj";
        case Target::token_embd: return "token_embd";
        case Target::output: return "output";
    }
    return "";
}

const model::Weight* weight_of(const model::WeightTable& table, uint32_t layer, Target target) {
    const auto found = [](const model::Weight& weight) { return weight.present() ? &weight : nullptr; };
    if (target == Target::token_embd) return found(table.token_embd);
    if (target == Target::output) return found(table.head());
    if (layer >= table.layers.size()) return nullptr;
    const model::LayerWeights& w = table.layers[layer];
    switch (target) {
        case Target::q: return found(w.attn_q);
        case Target::k: return found(w.attn_k);
        case Target::v: return found(w.attn_v);
        case Target::o: return found(w.attn_output);
        case Target::gate: return found(w.ffn_gate);
        case Target::up: return found(w.ffn_up);
        case Target::down: return found(w.ffn_down);
        case Target::inp_gate: return found(w.inp_gate);
        case Target::proj: return found(w.proj);
        default: return nullptr;
    }
}

}  // namespace lapidary::lora
