#include "kernels/check/suites.h"

#include <array>

namespace lapidary::kernels::check {

std::span<const Suite> suites() {
    // Those that take long to compile first: what comes later is done beside them.
    static constexpr auto kSuites = std::to_array<Suite>({
        {kMatmul, matmul_cases::all},
        {kMatvec, matvec_cases::all},
        {kAttention, attention_cases::all},
        {kAttentionDecode, attention_decode_cases::all},
        {kAttentionMerge, attention_merge_cases::all},
        {kGather, gather_cases::all},
        {kHeads, heads_cases::all},
        {kResidualNorm, residual_norm_cases::all},
        {kToPlanes, to_planes_cases::all},
        {kPerLayer, per_layer_cases::all},
        {kRoute, route_cases::all},
        {kCombine, combine_cases::all},
        {kArgmax, argmax_cases::all},
        {kSampleAdjust, sample_adjust_cases::all},
        {kSampleMask, sample_mask_cases::all},
        {kSampleCount, sample_count_cases::all},
        {kSampleCollect, sample_collect_cases::all},
        {kSamplePick, sample_pick_cases::all},
    });
    return kSuites;
}

std::span<const Suite> load_suites() {
    static constexpr auto kSuites = std::to_array<Suite>({
        {kMatmul, matmul_cases::all},
        {kMatvec, matvec_cases::all},
        {kAttentionDecode, attention_decode_cases::all},
        {kHeads, heads_cases::all},
        {kResidualNorm, residual_norm_cases::all},
    });
    return kSuites;
}

}  // namespace lapidary::kernels::check
