// The kernels: what each is called, what it binds, and where its WGSL is. Shapes are `override` constants, so a
// pipeline is made for each shape and a kernel needs no parameters at run time but the step.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>

#include "gpu/device.h"
#include "kernels/weight_format.h"

namespace lapidary::kernels {

struct Kernel {
    std::string_view name;
    std::string_view source;
    std::array<gpu::Access, 6> access;
    size_t bindings;
    bool reads_weights;  // its source is preceded by that of a weight format
    bool reduces;        // and by that of a reduction

    [[nodiscard]] std::span<const gpu::Access> accesses() const { return {access.data(), bindings}; }
};

extern const Kernel kMatvec;          // step, w, x, aux, y
extern const Kernel kMatmul;          // step, w, x, aux, y
extern const Kernel kGather;          // step, w, ids, y
extern const Kernel kResidualNorm;    // step, x, x2, w, h, y
extern const Kernel kHeads;           // step, norms, rates, qkv, k_cache, v_cache
extern const Kernel kAttention;       // step, qkv, k_cache, v_cache, y, parts
extern const Kernel kAttentionMerge;  // step, parts, y
extern const Kernel kPerLayer;        // step, context, tokens, w, y
extern const Kernel kRoute;           // step, logits, scales, ids, shares
extern const Kernel kCombine;         // step, shares, x, y
extern const Kernel kArgmax;          // step, logits, best, ids, history

// How threads add up what they have: through workgroup memory, or by shuffling within subgroups of at least 32.
enum class Reduction : uint8_t { shared, subgroup };

// The complete WGSL: the common part, the reduction, the format's if the kernel reads weights, the kernel's own.
std::string shader(const Kernel& kernel, Format format, Reduction reduction);

}  // namespace lapidary::kernels
