// Every program the engine records for a model on a kind of GPU, without weights and without the GPU.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "gpu/device.h"
#include "quant/mix.h"

namespace lapidary::testing {

// What a GPU would say of itself.
struct Profile {
    std::string_view name;
    gpu::Info info;
    uint32_t compute_units = 0;  // measured; 0: not known
    bool thorough = false;
};
std::span<const Profile> profiles();

struct PlannedModel {
    std::string_view name;
    std::string_view variant;  // as model::family_config knows it
    quant::Mix mix = quant::Mix::q4_k_m;
    // With a thorough profile: also every format of keys and values, adapters, and training.
    bool thorough = false;
};
std::span<const PlannedModel> planned_models();

using EachProgram = std::function<void(std::string_view name, size_t dispatches, const std::string& text)>;

// In the order in which they are recorded. What the profile has no room for is a program without dispatches whose name
// is the refusal.
// Canonical: as ProgramPrinter has it.
void each_program(const PlannedModel& model, const Profile& profile, bool canonical, const EachProgram& each);

// One line a program: model, profile, name, number of dispatches, digest of the canonical text.
std::string program_digests(const PlannedModel& model, const Profile& profile);

}  // namespace lapidary::testing
