// Adapters for tests: random ones that fit a model, and ways to look at them.
#pragma once

#include <cmath>
#include <initializer_list>
#include <string>

#include "lora/adapter.h"

namespace lapidary::testing {

// Every matrix of the targets that the model has, with A and B of random values between -size and size.
inline lora::Adapter random_adapter(const model::WeightTable& table, std::initializer_list<lora::Target> targets,
                                    uint32_t rank, float scale, uint32_t seed, float size = 0.1f) {
    lora::Adapter out;
    out.name = "random";
    out.alpha = scale * float(rank);
    uint32_t state = seed;
    const auto next = [&] {
        state = state * 1664525u + 1013904223u;
        return (float(state >> 8) / 8388608.0f - 1) * size;
    };
    const auto layers = uint32_t(table.layers.size());
    for (uint32_t layer = 0; layer < layers; ++layer) {
        for (const lora::Target target : targets) {
            if (!lora::in_layer(target) && layer > 0) continue;
            const auto shape = lora::shape_of(table, layer, target);
            if (!shape) continue;
            lora::Update update{.layer = layer,
                                .target = target,
                                .rank = rank,
                                .in = shape->in,
                                .out = shape->out,
                                .scale = scale,
                                .a = std::vector<float>(size_t(rank) * shape->in),
                                .b = std::vector<float>(size_t(rank) * shape->out)};
            for (float& value : update.a) value = next();
            for (float& value : update.b) value = next();
            out.updates.push_back(std::move(update));
        }
    }
    return out;
}

inline constexpr std::initializer_list<lora::Target> kUsualTargets = {
    lora::Target::q,    lora::Target::k,  lora::Target::v,    lora::Target::o,
    lora::Target::gate, lora::Target::up, lora::Target::down,
};
inline constexpr std::initializer_list<lora::Target> kLayerTargets = {
    lora::Target::q,  lora::Target::k,    lora::Target::v,        lora::Target::o,   lora::Target::gate,
    lora::Target::up, lora::Target::down, lora::Target::inp_gate, lora::Target::proj};

}  // namespace lapidary::testing
