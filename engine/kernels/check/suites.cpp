#include "kernels/check/suites.h"

#include <array>

namespace lapidary::kernels::check {

std::span<const Suite> suites() {
    // Those that take long to compile first: what comes later is done beside them.
    static constexpr auto kSuites = std::to_array<Suite>({
        {kMatmul, matmul_cases::all},
        {kMatmulBack, matmul_back_cases::all},
        {kMatvec, matvec_cases::all},
        {kWalk, walk_cases::all},
        {kGemm, gemm_cases::all},
        {kAttention, attention_cases::all},
        {kAttentionDecode, attention_decode_cases::all},
        {kAttentionMerge, attention_merge_cases::all},
        {kGather, gather_cases::all},
        {kHeads, heads_cases::all},
        {kResidualNorm, residual_norm_cases::all},
        {kToPlanes, to_planes_cases::all},
        {kTurns, turns_cases::all},
        {kPerLayer, per_layer_cases::all},
        {kRoute, route_cases::all},
        {kCombine, combine_cases::all},
        {kSoftcap, softcap_cases::all},
        {kArgmax, argmax_cases::all},
        {kSampleAdjust, sample_adjust_cases::all},
        {kSampleCount, sample_count_cases::all},
        {kSampleCollect, sample_collect_cases::all},
        {kSamplePick, sample_pick_cases::all},
        {kNorm, train_norm_cases::norm},
        {kNormBack, train_norm_cases::norm_back},
        {kSplitHeads, split_heads_cases::split_heads},
        {kSplitHeadsBack, split_heads_cases::split_heads_back},
        {kSoftmax, softmax_cases::softmax},
        {kSoftmaxBack, softmax_cases::softmax_back},
        {kGate, gate_cases::gate},
        {kGateBack, gate_cases::gate_back},
        {kSumParts, rows_cases::sum_parts},
        {kTakeRows, rows_cases::take_rows},
        {kCrossEntropy, cross_entropy_cases::cross_entropy},
        {kCrossEntropyBack, cross_entropy_cases::cross_entropy_back},
        {kExpertLists, train_expert_cases::expert_lists},
        {kRouteBack, train_expert_cases::route_back},
        {kSquares, adamw_cases::squares},
        {kClip, adamw_cases::clip},
        {kAdamW, adamw_cases::adamw},
        {kSampleMask, sample_mask_cases::all},
    });
    return kSuites;
}

std::span<const Suite> load_suites() {
    static constexpr auto kSuites = std::to_array<Suite>({
        {kMatmul, matmul_cases::at_load},
        {kMatvec, matvec_cases::at_load},
        {kWalk, walk_cases::at_load},
        {kAttentionDecode, attention_decode_cases::at_load},
        {kHeads, heads_cases::at_load},
        {kResidualNorm, residual_norm_cases::at_load},
    });
    return kSuites;
}

}  // namespace lapidary::kernels::check
