// What training on a fixture starts from and must give: tests/data/fixtures/NAME.lora.safetensors.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "lora/adapter.h"
#include "train/backend.h"

namespace lapidary::testing {

struct LoraFixture {
    lora::Adapter adapter;                // the values before the first step
    std::vector<lora::Update> gradients;  // of `loss`, by those
    train::Sequence sequence;
    double loss = 0;            // the mean over the positions that count
    std::vector<float> losses;  // before each AdamW step
    train::AdamW adamw;         // that made them
};

std::optional<LoraFixture> read_lora_fixture(const std::string& name);

}  // namespace lapidary::testing
