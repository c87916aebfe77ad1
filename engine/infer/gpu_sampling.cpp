// How the GPU chooses the next token: the most likely one, or one drawn as sample/sampler.h draws it.
#include <algorithm>
#include <bit>

#include "infer/gpu_division.h"
#include "infer/gpu_forward.h"

namespace lapidary::infer {
namespace {
constexpr int32_t kMostTopK = 256;     // sample_pick.wgsl looks at them one by one
constexpr uint32_t kMostWindow = 256;  // a thread each in sample_adjust.wgsl
}  // namespace

bool GpuForward::sampling_fits(const sample::Params& params) {
    const bool greedy = params.temperature == 0;
    return (greedy || (params.top_k > 0 && params.top_k <= kMostTopK)) && params.penalty_window <= kMostWindow &&
           params.logit_bias.size() <= kMostBiases;
}

void GpuForward::write_sampling(const sample::Params& params) {
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
    device().write(a_.sampling.buffer, 0, {reinterpret_cast<const uint8_t*>(words.data()), sizeof(words)});
    if (params.logit_bias.empty()) return;
    std::vector<uint32_t> biases;
    for (const auto& [token, bias] : params.logit_bias) {
        // An infinite bias is as good as a very large one, and stays a number.
        biases.insert(biases.end(), {uint32_t(token), bits(std::clamp(bias, -1e38f, 1e38f))});
    }
    device().write(a_.biases.buffer, 0, {reinterpret_cast<const uint8_t*>(biases.data()), biases.size() * 4});
}

void GpuForward::write_mask(sample::Allowed allowed) {
    std::vector<uint32_t> words(mask_words(), allowed.empty() ? ~0u : 0u);
    std::copy_n(allowed.begin(), std::min(allowed.size(), words.size()), words.begin());
    device().write(a_.mask.buffer, 0, {reinterpret_cast<const uint8_t*>(words.data()), words.size() * 4});
}

void GpuForward::write_history(uint32_t position, std::span<const int32_t> tokens) {
    device().write(a_.history.buffer, uint64_t(position) * 4,
                   {reinterpret_cast<const uint8_t*>(tokens.data()), tokens.size_bytes()});
}

void GpuForward::record_choice(GpuRecorder& program, Choice choice) {
    const uint32_t parts = choice_parts(config().vocabulary);
    const std::vector<gpu::Constant> sizes = {{"kN", double(config().vocabulary)}, {"kParts", double(parts)}};
    if (choice == Choice::none) return;
    const auto argmax = [&](uint32_t groups) {
        return program.add(kernels::kArgmax, sizes, {a_.step, a_.logits, a_.best, a_.ids, a_.history}, {groups, 1, 1});
    };
    if (choice == Choice::likeliest) {
        argmax(parts);
        return argmax(1);
    }
    program.add(kernels::kSampleAdjust, {}, {a_.step, a_.sampling, a_.history, a_.biases, a_.logits, a_.bins},
                {1, 1, 1});
    if (choice == Choice::limited) {
        program.add(kernels::kSampleMask, {sizes.front()}, {a_.mask, a_.logits},
                    {(config().vocabulary + 255) / 256, 1, 1});
    }
    argmax(parts);
    program.add(kernels::kSampleCount, sizes, {a_.logits, a_.best, a_.bins}, {parts, 1, 1});
    program.add(kernels::kSampleCollect, sizes, {a_.sampling, a_.logits, a_.best, a_.bins, a_.candidates},
                {parts, 1, 1});
    return program.add(kernels::kSamplePick, {}, {a_.step, a_.sampling, a_.bins, a_.candidates, a_.ids, a_.history},
                       {1, 1, 1});
}

Task<Result<gpu::Id>> GpuForward::choice_program(Choice choice, Cancel cancel) {
    if (const auto it = choice_programs_.find(choice); it != choice_programs_.end()) co_return it->second;
    GpuRecorder program(resources_, cancel);
    record_choice(program, choice);
    const gpu::Id id = CO_TRY(co_await program.finish());
    choice_programs_.emplace(choice, id);
    co_return id;
}

Task<Result<gpu::Id>> GpuForward::decode_program(Choice choice, Cancel cancel) {
    auto& programs = adapters_ != nullptr ? adapters_->decode_programs : decode_programs_;
    const auto key = uint8_t(choice);
    if (const auto it = programs.find(key); it != programs.end()) co_return it->second;
    GpuRecorder program(resources_, cancel, &keeper());
    record_layers(program, 1, Depth::all);
    record_head(program, a_.xn, 1);
    record_choice(program, choice);
    const gpu::Id id = CO_TRY(co_await program.finish());
    if (choice == Choice::likeliest && adapters_ == nullptr) greedy_commands_ = program.labelled();
    programs.emplace(key, id);
    co_return id;
}

}  // namespace lapidary::infer
