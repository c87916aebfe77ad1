#include "kernels/check/suites.h"

#include <array>

namespace lapidary::kernels::check {

std::span<const Suite> suites() {
    // Those that take long to compile first: what comes later is done beside them.
    static constexpr auto kSuites = std::to_array<Suite>({
        {kMatmul, matmul_cases},
        {kMatmulBack, matmul_back_cases},
        {kMatvec, matvec_cases},
        {kGemm, gemm_cases},
        {kAttention, attention_cases},
        {kAttentionDecode, attention_decode_cases},
        {kAttentionMerge, attention_merge_cases},
        {kGather, gather_cases},
        {kHeads, heads_cases},
        {kResidualNorm, residual_norm_cases},
        {kToPlanes, to_planes_cases},
        {kPerLayer, per_layer_cases},
        {kRoute, route_cases},
        {kCombine, combine_cases},
        {kSoftcap, softcap_cases},
        {kArgmax, argmax_cases},
        {kSampleAdjust, sample_adjust_cases},
        {kSampleCount, sample_count_cases},
        {kSampleCollect, sample_collect_cases},
        {kSamplePick, sample_pick_cases},
        {kNorm, norm_cases},
        {kNormBack, norm_back_cases},
        {kSplitHeads, split_heads_cases},
        {kSplitHeadsBack, split_heads_back_cases},
        {kSoftmax, softmax_cases},
        {kSoftmaxBack, softmax_back_cases},
        {kGate, gate_cases},
        {kGateBack, gate_back_cases},
        {kSumParts, sum_parts_cases},
        {kTakeRows, take_rows_cases},
        {kCrossEntropy, cross_entropy_cases},
        {kCrossEntropyBack, cross_entropy_back_cases},
        {kExpertLists, expert_lists_cases},
        {kRouteBack, route_back_cases},
        {kSquares, squares_cases},
        {kClip, clip_cases},
        {kAdamW, adamw_cases},
    });
    return kSuites;
}

}  // namespace lapidary::kernels::check
