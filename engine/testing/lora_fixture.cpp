#include "testing/lora_fixture.h"

#include <array>

#include "testing/safetensors.h"

namespace lapidary::testing {

std::optional<LoraFixture> read_lora_fixture(const std::string& name) {
    const auto file = read_safetensors("tests/data/fixtures/" + name + ".lora.safetensors");
    if (!file) return std::nullopt;
    const auto floats = [&](const std::string& tensor) { return file->at(tensor).floats; };
    LoraFixture out;
    out.adamw = {.learning_rate = 1e-2f};
    out.loss = double(floats("loss")[0]);
    out.losses = floats("adamw_losses");
    out.sequence = {.tokens = file->at("tokens").integers, .weights = floats("loss_mask"), .starts = {0}};
    out.sequence.weights.push_back(0);
    constexpr std::array kNames = {"q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"};
    for (uint32_t layer = 0; file->contains("layers." + std::to_string(layer) + ".q_proj.A"); ++layer) {
        for (size_t i = 0; i < kNames.size(); ++i) {
            const std::string base = "layers." + std::to_string(layer) + "." + kNames[i];
            if (!file->contains(base + ".A")) continue;
            const auto& a = file->at(base + ".A");
            const auto& b = file->at(base + ".B");
            lora::Update update{.layer = layer,
                                .target = lora::Target(i),
                                .rank = uint32_t(a.shape[0]),
                                .in = uint32_t(a.shape[1]),
                                .out = uint32_t(b.shape[0]),
                                .scale = 2,
                                .a = a.floats,
                                .b = b.floats};
            out.adapter.updates.push_back(update);
            update.a = floats(base + ".dA");
            update.b = floats(base + ".dB");
            out.gradients.push_back(std::move(update));
        }
    }
    return out;
}

}  // namespace lapidary::testing
