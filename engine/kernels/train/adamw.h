// A step of the optimizer: the sum of the gradients' squares (square_sums.wgsl), what they are multiplied with so that they
// are not too large (clip_factor.wgsl), and AdamW itself (adamw.wgsl).
#pragma once

#include <algorithm>

#include "base/checked.h"
#include "kernels/dispatch.h"
#include "kernels/wgsl_modules.h"

namespace lapidary::kernels {

struct SquareSums {
    static constexpr uint32_t kGroups = 64;  // as square_sums.wgsl has them

    gpu::Tensor x;
    gpu::Tensor sums;  // [kGroups]

    [[nodiscard]] Result<Dispatch> dispatch(const Target&) const {
        using B = wgsl::square_sums::Binding;
        return Call<wgsl::square_sums>({}).read(B::x, x).write(B::sums, sums).workgroups(kGroups);
    }
};

struct ClipFactor {
    gpu::Tensor settings;  // as AdamW reads them
    gpu::Tensor sums;      // all that SquareSums have left
    gpu::Tensor found;     // the gradients' norm, and the factor; −1: nothing may change

    [[nodiscard]] Result<Dispatch> dispatch(const Target&) const {
        using B = wgsl::clip_factor::Binding;
        return Call<wgsl::clip_factor>({})
            .read(B::settings, settings)
            .read(B::sums, sums)
            .write(B::found, found)
            .workgroups(1);
    }
};

// The gradients are zeros afterwards.
struct AdamW {
    gpu::Tensor settings, found;
    gpu::Tensor gradients, values, first_moments, second_moments;
    uint64_t count = 0;

    [[nodiscard]] Result<Dispatch> dispatch(const Target&) const {
        using B = wgsl::adamw::Binding;
        constexpr uint64_t kWorkgroup = 256;
        constexpr uint64_t kMaxWorkgroups = 4096;
        return Call<wgsl::adamw>({})
            .read(B::settings, settings)
            .read(B::found, found)
            .update(B::g, gradients)
            .update(B::value, values)
            .update(B::first, first_moments)
            .update(B::second, second_moments)
            .workgroups(std::min<uint64_t>(ceil_div(count, kWorkgroup), kMaxWorkgroups));
    }
};

}  // namespace lapidary::kernels
