// How the next token is chosen from the logits: greedily by two dispatches of Argmax, or drawn by SampleAdjust, (SampleMask,)
// Argmax, SampleCount, SampleCollect and SamplePick (sample/*.wgsl).
#pragma once

#include <algorithm>
#include <optional>

#include "base/checked.h"
#include "kernels/dispatch.h"
#include "kernels/wgsl_modules.h"

namespace lapidary::kernels {

inline constexpr uint32_t kMaxVocabularySlices = 128;

// The slices of the vocabulary that are looked through side by side: two or more.
inline uint32_t vocabulary_slices(uint64_t vocabulary) {
    constexpr uint64_t kWorthAWorkgroup = 2048;
    return uint32_t(std::clamp<uint64_t>(vocabulary / kWorthAWorkgroup, 2, kMaxVocabularySlices));
}

// First the best of each slice, then, with one workgroup, the best of those: it becomes the next token, and the step moves on.
struct Argmax {
    gpu::Tensor step, logits, best, ids, history;
    uint32_t vocabulary = 0;
    bool of_slices = true;
    std::optional<uint32_t> slices = {};  // another number of them, to try it

    [[nodiscard]] Result<Dispatch> dispatch(const Target&) const {
        using B = wgsl::argmax::Binding;
        const uint32_t count = slices.value_or(vocabulary_slices(vocabulary));
        return Call<wgsl::argmax>({.kVocabulary = vocabulary, .kSlices = count})
            .update(B::step, step)
            .read(B::logits, logits)
            .update(B::best, best)
            .write(B::ids, ids)
            .update(B::history, history)
            .workgroups(of_slices ? count : 1);
    }
};

// Biases and penalties on the logits, in place.
struct SampleAdjust {
    gpu::Tensor sampling, history, biases, logits, bins;

    [[nodiscard]] Result<Dispatch> dispatch(const Target&) const {
        using B = wgsl::sample_adjust::Binding;
        return Call<wgsl::sample_adjust>({})
            .read(B::sampling, sampling)
            .read(B::history, history)
            .read(B::biases, biases)
            .update(B::logits, logits)
            .write(B::bins, bins)
            .workgroups(1);
    }
};

// Tokens that may not be chosen become impossible.
struct SampleMask {
    gpu::Tensor mask, logits;
    uint32_t vocabulary = 0;

    [[nodiscard]] Result<Dispatch> dispatch(const Target&) const {
        using B = wgsl::sample_mask::Binding;
        return Call<wgsl::sample_mask>({.kVocabulary = vocabulary})
            .read(B::mask, mask)
            .update(B::logits, logits)
            .workgroups(ceil_div(vocabulary, 256));
    }
};

// How many logits lie how far below the largest.
struct SampleCount {
    gpu::Tensor logits, best, bins;
    uint32_t vocabulary = 0;
    std::optional<uint32_t> slices = {};  // as Argmax has

    [[nodiscard]] Result<Dispatch> dispatch(const Target&) const {
        using B = wgsl::sample_count::Binding;
        const uint32_t count = slices.value_or(vocabulary_slices(vocabulary));
        return Call<wgsl::sample_count>({.kVocabulary = vocabulary, .kSlices = count})
            .read(B::logits, logits)
            .read(B::best, best)
            .update(B::bins, bins)
            .workgroups(count);
    }
};

// The logits that can be among the top_k.
struct SampleCollect {
    gpu::Tensor sampling, logits, best, bins, candidates;
    uint32_t vocabulary = 0;
    std::optional<uint32_t> slices = {};  // as Argmax has

    [[nodiscard]] Result<Dispatch> dispatch(const Target&) const {
        using B = wgsl::sample_collect::Binding;
        const uint32_t count = slices.value_or(vocabulary_slices(vocabulary));
        return Call<wgsl::sample_collect>({.kVocabulary = vocabulary, .kSlices = count})
            .read(B::sampling, sampling)
            .read(B::logits, logits)
            .read(B::best, best)
            .update(B::bins, bins)
            .update(B::candidates, candidates)
            .workgroups(count);
    }
};

// Draws one of the candidates, which becomes the next token, and the step moves on.
struct SamplePick {
    gpu::Tensor step, sampling, bins, candidates, ids, history;

    [[nodiscard]] Result<Dispatch> dispatch(const Target&) const {
        using B = wgsl::sample_pick::Binding;
        return Call<wgsl::sample_pick>({})
            .update(B::step, step)
            .read(B::sampling, sampling)
            .read(B::bins, bins)
            .read(B::candidates, candidates)
            .write(B::ids, ids)
            .update(B::history, history)
            .workgroups(1);
    }
};

// y = cap · tanh(y / cap) in place, where something was added after the product (softcap.wgsl).
struct Softcap {
    gpu::Tensor y;
    uint32_t cols = 0;
    uint32_t rows = 0;
    float cap = 0;

    [[nodiscard]] Result<Dispatch> dispatch(const Target&) const {
        using B = wgsl::softcap::Binding;
        return Call<wgsl::softcap>({.kCols = cols, .kCap = cap}).update(B::y, y).workgroups(ceil_div(cols, 64), rows);
    }
};

}  // namespace lapidary::kernels
