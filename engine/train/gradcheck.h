// How far a backend is from what others computed on the same model: a file with an adapter, a sequence, and the loss,
// gradients and losses of AdamW steps that belong to them.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "train/backend.h"

namespace lapidary::train {

struct Fixture {
    lora::Adapter adapter;                // the values before the first step
    std::vector<lora::Update> gradients;  // of `loss`, by those
    Sequence sequence;
    double loss = 0;            // the mean over the positions that count
    std::vector<float> losses;  // before each AdamW step
    AdamW adamw;                // that made them
};

// A safetensors file with: tokens [n], loss_mask [n − 1], loss, adamw_losses [steps]; layers.I.q_proj.A [rank, in], .B
// [out, rank], .dA, .dB for every update; `scale` in the metadata.
Result<Fixture> read_fixture(std::span<const uint8_t> file);

struct GradcheckReport {
    double loss = 0;            // relative error
    double worst_gradient = 0;  // the largest of all below
    struct Gradient {
        std::string label;
        double a = 0;  // |difference| / |expected|
        double b = 0;
    };
    std::vector<Gradient> gradients;
    // Of each AdamW step: the relative error of the loss, in a run that has nothing but the starting values.
    std::vector<double> alone;
    // The first step of AdamW moves every number by the learning rate, up or down, however small its gradient: rounding
    // decides where some go, and at a high rate that decides everything after a few more steps. The fixture has that
    // step's gradients. So here AdamW takes the expected ones once, and the backend's own in every other step: the same
    // error, which now is about the backend.
    std::vector<double> guided;
    // Rounding still leads runs apart, later. How far is measured, with guided runs whose numbers are changed by a
    // hundred-thousandth after the first step: the standard deviation of the losses' logarithms, the largest up to this
    // step.
    std::vector<double> spread;
    // How many of those lie between the expected loss and the middle of the guided runs, but for what is equal anyway.
    std::vector<double> distance;
    double worst_distance = 0;
    size_t determined = 0;  // so many first steps have a spread of a quarter of the tolerance at most
    double worst_step = 0;  // error among those, guided; and of the first two, alone

    static constexpr double kLossTolerance = 1e-4;
    static constexpr double kGradientTolerance = 2e-3;
    static constexpr double kStepTolerance = 1e-2;
    // A right program is this far from five runs less than once in a hundred times (docs/training.md).
    static constexpr double kDistanceTolerance = 6;
    [[nodiscard]] bool passed() const {
        return loss <= kLossTolerance && worst_gradient <= kGradientTolerance && worst_step <= kStepTolerance &&
               worst_distance <= kDistanceTolerance;
    }
};

using MakeBackend = std::function<Task<Result<std::unique_ptr<Backend>>>(const lora::Adapter& adapter)>;
// `others`: guided runs beside the one that is compared, for the spread; at least 2.
Task<Result<GradcheckReport>> gradcheck(Fixture fixture, MakeBackend make, Breathe breathe, uint32_t others = 4);

}  // namespace lapidary::train
