#include "kernels/check/suites.h"

#include <array>

#include "kernels/wgsl_modules.h"

namespace lapidary::kernels::check {

std::span<const Suite> suites() {
    // Those that take long to compile first: what comes later is done beside them.
    static constexpr auto kSuites = std::to_array<Suite>({
        {wgsl::gemm::module, gemm_cases::all},
        {wgsl::gemm_transposed::module, gemm_transposed_cases::all},
        {wgsl::gemv::module, gemv_cases::all},
        {wgsl::gemv_persistent::module, gemv_persistent_cases::all},
        {wgsl::batched_gemm::module, batched_gemm_cases::all},
        {wgsl::flash_prefill::module, flash_prefill_cases::all},
        {wgsl::flash_decode::module, flash_decode_cases::all},
        {wgsl::merge_splits::module, merge_splits_cases::all},
        {wgsl::gather_rows::module, gather_rows_cases::all},
        {wgsl::pool_rows::module, pool_rows_cases::all},
        {wgsl::qk_norm_rope_store::module, qk_norm_rope_store_cases::all},
        {wgsl::add_rms_norm::module, add_rms_norm_cases::all},
        {wgsl::to_limbs::module, to_limbs_cases::all},
        {wgsl::rope_table::module, rope_table_cases::all},
        {wgsl::per_layer_inputs::module, per_layer_inputs_cases::all},
        {wgsl::moe_route::module, moe_route_cases::all},
        {wgsl::moe_combine::module, moe_combine_cases::all},
        {wgsl::softcap::module, softcap_cases::all},
        {wgsl::argmax::module, argmax_cases::all},
        {wgsl::sample_adjust::module, sample_adjust_cases::all},
        {wgsl::sample_count::module, sample_count_cases::all},
        {wgsl::sample_collect::module, sample_collect_cases::all},
        {wgsl::sample_pick::module, sample_pick_cases::all},
        {wgsl::rms_norm::module, rms_norm_cases::rms_norm},
        {wgsl::rms_norm_backward::module, rms_norm_cases::rms_norm_backward},
        {wgsl::qk_norm_rope::module, qk_norm_rope_cases::qk_norm_rope},
        {wgsl::qk_norm_rope_backward::module, qk_norm_rope_cases::qk_norm_rope_backward},
        {wgsl::softmax::module, softmax_cases::softmax},
        {wgsl::softmax_backward::module, softmax_cases::softmax_backward},
        {wgsl::gelu_gate::module, gelu_gate_cases::gelu_gate},
        {wgsl::gelu_gate_backward::module, gelu_gate_cases::gelu_gate_backward},
        {wgsl::sum_partials::module, rows_cases::sum_partials},
        {wgsl::copy_rows::module, rows_cases::copy_rows},
        {wgsl::cross_entropy::module, cross_entropy_cases::cross_entropy},
        {wgsl::cross_entropy_backward::module, cross_entropy_cases::cross_entropy_backward},
        {wgsl::expert_lists::module, expert_cases::expert_lists},
        {wgsl::moe_route_backward::module, expert_cases::moe_route_backward},
        {wgsl::square_sums::module, adamw_cases::square_sums},
        {wgsl::clip_factor::module, adamw_cases::clip_factor},
        {wgsl::adamw::module, adamw_cases::adamw},
        {wgsl::sample_mask::module, sample_mask_cases::all},
        {wgsl::moe_router::module, moe_router_cases::all},
        {wgsl::canvas_input::module, canvas_cases::input},
        {wgsl::canvas_probabilities::module, canvas_cases::probabilities},
        {wgsl::canvas_places::module, canvas_cases::places},
        {wgsl::canvas_settle::module, canvas_cases::settle},
        {wgsl::gemm::module, tower_cases::clipped_gemm},
        {wgsl::patch_heads::module, tower_cases::patch_heads},
        {wgsl::softmax_rows::module, tower_cases::softmax_rows},
    });
    return kSuites;
}

std::span<const Suite> load_suites() {
    static constexpr auto kSuites = std::to_array<Suite>({
        {wgsl::gemm::module, gemm_cases::at_load},
        {wgsl::gemv::module, gemv_cases::at_load},
        {wgsl::gemv_persistent::module, gemv_persistent_cases::at_load},
        {wgsl::flash_decode::module, flash_decode_cases::at_load},
        {wgsl::qk_norm_rope_store::module, qk_norm_rope_store_cases::at_load},
        {wgsl::add_rms_norm::module, add_rms_norm_cases::at_load},
    });
    return kSuites;
}

}  // namespace lapidary::kernels::check
