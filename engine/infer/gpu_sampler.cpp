#include "infer/gpu_sampler.h"

#include <algorithm>
#include <array>
#include <bit>

#include "kernels/sample/sampling_ops.h"

namespace lapidary::infer {
namespace {

constexpr int32_t kMaxTopK = 256;     // sample_pick.wgsl looks at them one by one
constexpr uint32_t kMaxWindow = 256;  // a thread each in sample_adjust.wgsl

template <class T>
void write_to(gpu::Device& device, const gpu::Tensor& tensor, uint64_t offset, std::span<const T> values) {
    device.write(tensor.at.buffer, offset, {reinterpret_cast<const uint8_t*>(values.data()), values.size_bytes()});
}

}  // namespace

void record_sampling(kernels::Program& program, const SessionTensors& t, uint32_t vocabulary, SampleMode mode) {
    if (mode == SampleMode::none) return;
    kernels::Argmax argmax{.step = t.step,
                           .logits = t.logits,
                           .best = t.best,
                           .ids = t.ids,
                           .history = t.history,
                           .vocabulary = vocabulary};
    if (mode == SampleMode::greedy) {
        program.add(argmax);
        argmax.of_slices = false;
        return program.add(argmax);
    }
    program.add(kernels::SampleAdjust{
        .sampling = t.sampling, .history = t.history, .biases = t.biases, .logits = t.logits, .bins = t.bins});
    if (mode == SampleMode::constrained) {
        program.add(kernels::SampleMask{.mask = t.mask, .logits = t.logits, .vocabulary = vocabulary});
    }
    program.add(argmax);
    program.add(kernels::SampleCount{.logits = t.logits, .best = t.best, .bins = t.bins, .vocabulary = vocabulary});
    program.add(kernels::SampleCollect{.sampling = t.sampling,
                                       .logits = t.logits,
                                       .best = t.best,
                                       .bins = t.bins,
                                       .candidates = t.candidates,
                                       .vocabulary = vocabulary});
    program.add(kernels::SamplePick{.step = t.step,
                                    .sampling = t.sampling,
                                    .bins = t.bins,
                                    .candidates = t.candidates,
                                    .ids = t.ids,
                                    .history = t.history});
}

bool sampling_fits(const sample::Params& params) {
    constexpr size_t kMaxBiases = 1024;  // SessionTensors has room for them
    const bool greedy = params.temperature == 0;
    return (greedy || (params.top_k > 0 && params.top_k <= kMaxTopK)) && params.penalty_window <= kMaxWindow &&
           params.logit_bias.size() <= kMaxBiases;
}

void write_sampling(gpu::Device& device, const SessionTensors& t, const sample::Params& params) {
    const bool penalises = params.repeat_penalty != 1 || params.presence_penalty != 0 || params.frequency_penalty != 0;
    const auto bits = [](float value) { return std::bit_cast<uint32_t>(value); };
    const std::array<uint32_t, 12> words = {bits(params.temperature),
                                            bits(params.top_p),
                                            bits(params.min_p),
                                            bits(params.repeat_penalty),
                                            bits(params.presence_penalty),
                                            bits(params.frequency_penalty),
                                            params.temperature == 0 ? 1u : uint32_t(params.top_k),
                                            penalises ? params.penalty_window : 0,
                                            uint32_t(params.seed),
                                            uint32_t(params.seed >> 32),
                                            uint32_t(params.logit_bias.size()),
                                            0};
    write_to<uint32_t>(device, t.sampling, 0, words);
    if (params.logit_bias.empty()) return;
    std::vector<uint32_t> biases;
    for (const auto& [token, bias] : params.logit_bias) {
        // An infinite bias is as good as a very large one, and stays a number.
        biases.insert(biases.end(), {uint32_t(token), bits(std::clamp(bias, -1e38f, 1e38f))});
    }
    write_to<uint32_t>(device, t.biases, 0, biases);
}

void write_mask(gpu::Device& device, const SessionTensors& t, sample::Allowed allowed) {
    std::vector<uint32_t> words(t.mask.cols, allowed.empty() ? ~0u : 0u);
    std::copy_n(allowed.begin(), std::min(allowed.size(), words.size()), words.begin());
    write_to<uint32_t>(device, t.mask, 0, words);
}

void write_history(gpu::Device& device, const SessionTensors& t, uint32_t position, std::span<const int32_t> tokens) {
    // What stands for an image or a sound counts as padding.
    std::vector<int32_t> known(tokens.begin(), tokens.end());
    for (int32_t& token : known) token = std::max(token, kPadToken);
    write_to(device, t.history, uint64_t(position) * sizeof(int32_t), std::span<const int32_t>(known));
}

}  // namespace lapidary::infer
