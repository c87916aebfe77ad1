// How to train: everything a person may decide.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lora/adapter.h"
#include "train/backend.h"

namespace lapidary::train {

enum class Schedule : uint8_t { constant, linear, cosine };
Result<Schedule> schedule_from(std::string_view name);

struct Settings {
    // The adapter.
    uint32_t rank = 16;
    float alpha = 32;
    std::vector<lora::Target> targets = {lora::Target::q,    lora::Target::k,  lora::Target::v,   lora::Target::o,
                                         lora::Target::gate, lora::Target::up, lora::Target::down};
    std::vector<uint32_t> layers;  // none: all of them

    // What makes a step: batch · accumulate examples, short ones packed into sequences of up to `sequence` tokens.
    uint32_t batch = 4;
    uint32_t accumulate = 1;
    uint32_t sequence = 512;
    bool cut = true;       // an example that is too long loses its end; otherwise it is refused
    float validation = 0;  // share of the examples that are kept back

    // How far it goes, and how fast.
    uint32_t epochs = 1;
    uint64_t steps = 0;  // 0: as many as the epochs have
    AdamW adamw{.learning_rate = 2e-4f};
    Schedule schedule = Schedule::cosine;
    float warmup = 0.03f;  // share of the steps in which the learning rate grows
    float dropout = 0;
    uint64_t seed = 0;
    uint64_t every = 0;  // steps between two validations and rounds of samples; 0: a tenth of all
};

Status check(const Settings& settings);

// The learning rate of step 0 … steps − 1: it grows to the highest in the warm-up, then stays or falls towards 0.
float learning_rate(const Settings& settings, uint64_t step, uint64_t steps);

// A is random (uniform, bound 1 / sqrt(in)), B is 0: at first the model is what it was. Targets that a layer does not
// have are left out there.
Result<lora::Adapter> initial_adapter(const model::WeightTable& table, const Settings& settings);

}  // namespace lapidary::train
