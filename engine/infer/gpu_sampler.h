// How the GPU chooses the next token: the most likely one, or one drawn as sample/sampler.h draws it.
#pragma once

#include "infer/session_tensors.h"
#include "kernels/program.h"
#include "sample/sampler.h"

namespace lapidary::infer {

enum class SampleMode : uint8_t {
    none,  // the host says what comes next
    greedy,
    sampled,
    constrained,  // sampled among the tokens of write_mask
};

// The next token is chosen from t.logits and becomes the input, and the step moves on.
void record_sampling(kernels::Program& program, const SessionTensors& t, uint32_t vocabulary, SampleMode mode);

// Whether the kernels can do it.
bool sampling_fits(const sample::Params& params);

// For SampleMode::sampled and constrained.
void write_sampling(gpu::Device& device, const SessionTensors& t, const sample::Params& params);
void write_mask(gpu::Device& device, const SessionTensors& t, sample::Allowed allowed);
// The tokens at `position` and after it, for the penalties.
void write_history(gpu::Device& device, const SessionTensors& t, uint32_t position, std::span<const int32_t> tokens);

}  // namespace lapidary::infer
