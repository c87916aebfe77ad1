#include "cpu/adapters.h"

namespace lapidary::cpu {
namespace {

using infer::Linear;
using lora::Target;

struct Place {
    Linear which;
    uint32_t y_at;
};

Place place_of(Target target, const model::LayerConfig& layer) {
    switch (target) {
        case Target::q: return {Linear::qkv, 0};
        case Target::k: return {Linear::qkv, layer.q_width()};
        case Target::v: return {Linear::qkv, layer.q_width() + layer.kv_width()};
        case Target::o: return {Linear::o, 0};
        case Target::gate: return {Linear::gate_up, 0};
        case Target::up: return {Linear::gate_up, layer.ffn};
        case Target::down: return {Linear::down, 0};
        case Target::inp_gate: return {Linear::inp_gate, 0};
        case Target::proj: return {Linear::proj, 0};
        case Target::token_embd: return {Linear::token_embd, 0};
        default: return {Linear::output, 0};
    }
}

}  // namespace

Result<std::unique_ptr<Adapters>> Adapters::create(const Model& model, std::span<const lora::Active> active) {
    std::unique_ptr<Adapters> out(new Adapters(model.heap()));
    for (const lora::Active& one : active) {
        for (const lora::Update& update : one.adapter->updates) {
            const uint32_t layer = lora::in_layer(update.target) ? update.layer : 0;
            const Place place = place_of(update.target, model.config().layers[layer]);
            const auto matrix = [&](const std::vector<float>& values, uint32_t rows, uint32_t cols) -> Result<Matrix> {
                return Matrix{
                    .form = Form::f32, .at = TRY(out->blocks_.take_for(std::span(values))), .rows = rows, .cols = cols};
            };
            out->terms_[std::pair(layer, place.which)].push_back({.a = TRY(matrix(update.a, update.rank, update.in)),
                                                                  .b = TRY(matrix(update.b, update.out, update.rank)),
                                                                  .y_at = place.y_at,
                                                                  .scale = update.scale * one.scale});
        }
    }
    return out;
}

std::span<const Adapters::Term> Adapters::terms(infer::LinearOf which) const {
    const auto it = terms_.find(std::pair(which.layer, which.which));
    return it == terms_.end() ? std::span<const Term>() : std::span<const Term>(it->second);
}

}  // namespace lapidary::cpu
