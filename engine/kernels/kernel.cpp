#include "kernels/kernel.h"

#include "kernels/wgsl_modules.h"

namespace lapidary::kernels {
namespace {

const Module& kv_module(KvFormat format) {
    switch (format) {
        case KvFormat::f32: return wgsl::kv_f32;
        case KvFormat::f16: return wgsl::kv_f16;
        case KvFormat::i16: return wgsl::kv_i16;
        case KvFormat::q8: return wgsl::kv_q8;
    }
    return wgsl::kv_f32;
}

const Module& dot_module(Format format, Activations activations) {
    if (activations == Activations::planes) return wgsl::x_planes_unit;
    return holds_whole_numbers(format) ? wgsl::x_floats_unit : wgsl::x_floats_run;
}

}  // namespace

const Kernel kMatvec{"matvec", wgsl::matvec};
const Kernel kWalk{"walk", wgsl::walk};
const Kernel kMatmul{"matmul", wgsl::matmul};
const Kernel kGather{"gather", wgsl::gather};
const Kernel kResidualNorm{"residual_norm", wgsl::residual_norm};
const Kernel kHeads{"heads", wgsl::heads};
const Kernel kAttention{"attention", wgsl::attention};
const Kernel kAttentionDecode{"attention_decode", wgsl::attention_decode};
const Kernel kTurns{"turns", wgsl::turns};
const Kernel kAttentionMerge{"attention_merge", wgsl::attention_merge};
const Kernel kToPlanes{"to_planes", wgsl::to_planes};
const Kernel kPerLayer{"per_layer", wgsl::per_layer};
const Kernel kRoute{"route", wgsl::route};
const Kernel kCombine{"combine", wgsl::combine};
const Kernel kSoftcap{"softcap", wgsl::softcap};
const Kernel kArgmax{"argmax", wgsl::argmax};
const Kernel kSampleAdjust{"sample_adjust", wgsl::sample_adjust};
const Kernel kSampleMask{"sample_mask", wgsl::sample_mask};
const Kernel kSampleCount{"sample_count", wgsl::sample_count};
const Kernel kSampleCollect{"sample_collect", wgsl::sample_collect};
const Kernel kSamplePick{"sample_pick", wgsl::sample_pick};

const Kernel kGemm{"gemm", wgsl::train_gemm};
const Kernel kMatmulBack{"matmul_back", wgsl::train_matmul_back};
const Kernel kNorm{"norm", wgsl::train_norm};
const Kernel kNormBack{"norm_back", wgsl::train_norm_back};
const Kernel kSplitHeads{"split_heads", wgsl::train_split_heads};
const Kernel kSplitHeadsBack{"split_heads_back", wgsl::train_split_heads_back};
const Kernel kSoftmax{"softmax", wgsl::train_softmax};
const Kernel kSoftmaxBack{"softmax_back", wgsl::train_softmax_back};
const Kernel kGate{"gate", wgsl::train_gate};
const Kernel kGateBack{"gate_back", wgsl::train_gate_back};
const Kernel kSumParts{"sum_parts", wgsl::train_sum_parts};
const Kernel kTakeRows{"take_rows", wgsl::train_take_rows};
const Kernel kCrossEntropy{"cross_entropy", wgsl::train_cross_entropy};
const Kernel kCrossEntropyBack{"cross_entropy_back", wgsl::train_cross_entropy_back};
const Kernel kExpertLists{"expert_lists", wgsl::train_expert_lists};
const Kernel kRouteBack{"route_back", wgsl::train_route_back};
const Kernel kSquares{"squares", wgsl::train_squares};
const Kernel kClip{"clip", wgsl::train_clip};
const Kernel kAdamW{"adamw", wgsl::train_adamw};

std::string shader(const Kernel& kernel, Formats formats, Variant variant) {
    // Weights in floating point have no use for whole numbers.
    const auto form = [&](Format format) {
        return holds_whole_numbers(format) ? variant.activations : Activations::floats;
    };
    const auto dot = [&](Format format) { return &dot_module(format, form(format)); };
    const bool planes = form(formats.first) == Activations::planes;
    const std::array<Slot, 7> slots = {{
        {"reduce", variant.reduction == Reduction::subgroup ? &wgsl::reduce_subgroup : &wgsl::reduce_shared},
        {"kv", &kv_module(variant.kv)},
        {"weights", &format_module(formats.first), formats.second ? &format_module(*formats.second) : nullptr},
        {"activations", planes ? &wgsl::x_planes_held : &wgsl::x_floats},
        {"dot", dot(formats.first), formats.second ? dot(*formats.second) : nullptr},
        {"formats", formats.second ? &wgsl::two_formats : &wgsl::one_format},
        {"ways", formats.second ? &wgsl::walk_two : &wgsl::walk_one},
    }};
    return link(kernel.module, slots);
}

std::string_view kernels_digest() {
    return wgsl::digest;
}

}  // namespace lapidary::kernels
