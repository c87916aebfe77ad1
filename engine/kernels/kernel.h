// The kernels: what each is called, what it binds, and where its WGSL is. Shapes are `override` constants, so a
// pipeline is made for each shape and a kernel needs no parameters at run time but the step.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/kv_format.h"
#include "gpu/device.h"
#include "kernels/link.h"
#include "kernels/weight_format.h"

namespace lapidary::kernels {

struct Kernel {
    std::string_view name;
    const Module& module;

    [[nodiscard]] std::span<const gpu::Access> accesses() const { return module.access; }
    [[nodiscard]] bool reads_weights() const { return has_slot(module, "weights"); }
};

extern const Kernel kMatvec;           // w, x, delta, norms, aux, step, h, y
extern const Kernel kWalk;             // w, x, y
extern const Kernel kMatmul;           // step, w, x, aux, y
extern const Kernel kGather;           // step, w, ids, y
extern const Kernel kResidualNorm;     // step, x, x2, w, h, y
extern const Kernel kHeads;            // step, norms, rates, qkv, k_cache, v_cache
extern const Kernel kAttention;        // step, qkv, k_cache, v_cache, y
extern const Kernel kTurns;            // step, rates, turns
extern const Kernel kAttentionDecode;  // step, qkv, norms, turns, k_cache, v_cache, parts, stats
extern const Kernel kAttentionMerge;   // step, parts, stats, y
extern const Kernel kToPlanes;         // x, y
extern const Kernel kPerLayer;         // step, context, tokens, w, y
extern const Kernel kRoute;            // step, logits, scales, ids, shares
extern const Kernel kCombine;          // step, shares, x, y
extern const Kernel kSoftcap;          // step, y
extern const Kernel kArgmax;           // step, logits, best, ids, history
extern const Kernel kSampleAdjust;     // step, sampling, history, biases, logits, bins
extern const Kernel kSampleMask;       // mask, logits
extern const Kernel kSampleCount;      // logits, best, bins
extern const Kernel kSampleCollect;    // sampling, logits, best, bins, candidates
extern const Kernel kSamplePick;       // step, sampling, bins, candidates, ids, history

// Of training, in train/.
extern const Kernel kGemm;              // step, shape, p, q, drops, c
extern const Kernel kMatmulBack;        // step, w, dy, lists, dx
extern const Kernel kNorm;              // step, base, x, w, y
extern const Kernel kNormBack;          // step, x, w, dy, dx
extern const Kernel kSplitHeads;        // step, places, norms, rates, qkv, q, kv
extern const Kernel kSplitHeadsBack;    // step, places, norms, rates, qkv, dq, dkv, dqkv
extern const Kernel kSoftmax;           // step, first, places, scores
extern const Kernel kSoftmaxBack;       // step, first, p, dp
extern const Kernel kGate;              // step, g, aux, y
extern const Kernel kGateBack;          // step, dy, aux, g
extern const Kernel kSumParts;          // step, size, parts, y
extern const Kernel kTakeRows;          // step, rows, x, y
extern const Kernel kCrossEntropy;      // step, tile, targets, logits, sums
extern const Kernel kCrossEntropyBack;  // step, tile, targets, sums, logits
extern const Kernel kExpertLists;       // step, ids, lists
extern const Kernel kRouteBack;         // step, ids, shares, scales, dy, x, logits
extern const Kernel kSquares;           // x, sums
extern const Kernel kClip;              // settings, sums, found
extern const Kernel kAdamW;             // settings, found, g, value, first, second

// How many elements of a row a workgroup of residual_norm leaves as planes.
constexpr uint32_t kNormedAWorkgroup = 2048;

// How threads add up what they have: through workgroup memory, or by shuffling within subgroups of at least 32.
enum class Reduction : uint8_t { shared, subgroup };

// In what form matvec meets quantised weights with its activations.
enum class Activations : uint8_t { floats, planes };

struct Variant {
    Reduction reduction = Reduction::shared;
    Activations activations = Activations::floats;
    KvFormat kv = KvFormat::f32;
};

// How a kernel's weights are packed. Only matvec and walk take a matrix whose last rows are in another format than the first, and
// only if both hold whole numbers or neither does.
struct Formats {
    Format first = Format::f32;
    std::optional<Format> second;

    // Most have one.
    Formats(Format format) : first(format) {}  // NOLINT(google-explicit-constructor)
    Formats(Format one, std::optional<Format> other) : first(one), second(other) {}

    [[nodiscard]] std::string name() const {
        std::string out(format_name(first));
        if (second) out += "+" + std::string(format_name(*second));
        return out;
    }
};

// The complete WGSL: what the kernel imports, with the slots filled as formats and variant say, and the kernel's own.
std::string shader(const Kernel& kernel, Formats formats, Variant variant);

// Another one for other kernels, and for other ways of trying them.
std::string_view kernels_digest();

}  // namespace lapidary::kernels
