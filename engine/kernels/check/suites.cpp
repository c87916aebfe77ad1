#include "kernels/check/suites.h"

#include <array>

namespace lapidary::kernels::check {

std::span<const Suite> suites() {
    // Those that take long to compile first: what comes later is done beside them.
    static constexpr auto kSuites = std::to_array<Suite>({
        {kMatmul, matmul_cases},
        {kMatvec, matvec_cases},
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
        {kArgmax, argmax_cases},
        {kSampleAdjust, sample_adjust_cases},
        {kSampleMask, sample_mask_cases},
        {kSampleCount, sample_count_cases},
        {kSampleCollect, sample_collect_cases},
        {kSamplePick, sample_pick_cases},
    });
    return kSuites;
}

}  // namespace lapidary::kernels::check
