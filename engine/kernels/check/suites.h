// The cases of every kernel, one file NAME_cases.cpp each, with a namespace of that name: they all have a Shape. What is
// not tried at load need not be in what everybody downloads.
#pragma once

#include "kernels/check/case.h"

namespace lapidary::kernels::check {

struct Suite {
    const Module& kernel;
    std::vector<Case> (*cases)();
};
std::span<const Suite> suites();
// Those that a model's first load runs: where drivers have been seen to go wrong, and where most of the time goes.
std::span<const Suite> load_suites();

// clang-format off: a list
namespace adamw_cases { std::vector<Case> square_sums(); std::vector<Case> clip_factor(); std::vector<Case> adamw(); }
namespace argmax_cases { std::vector<Case> all(); }
namespace flash_prefill_cases { std::vector<Case> all(); }
namespace flash_decode_cases { std::vector<Case> at_load(); std::vector<Case> all(); }
namespace merge_splits_cases { std::vector<Case> all(); }
namespace moe_combine_cases { std::vector<Case> all(); }
namespace canvas_cases {
std::vector<Case> input(); std::vector<Case> probabilities(); std::vector<Case> places(); std::vector<Case> settle();
}
namespace moe_router_cases { std::vector<Case> all(); }
namespace cross_entropy_cases { std::vector<Case> cross_entropy(); std::vector<Case> cross_entropy_backward(); }
namespace gelu_gate_cases { std::vector<Case> gelu_gate(); std::vector<Case> gelu_gate_backward(); }
namespace gather_rows_cases { std::vector<Case> all(); }
namespace pool_rows_cases { std::vector<Case> all(); }
namespace batched_gemm_cases { std::vector<Case> all(); }
namespace qk_norm_rope_store_cases { std::vector<Case> at_load(); std::vector<Case> all(); }
namespace gemm_transposed_cases { std::vector<Case> all(); }
namespace gemm_cases { std::vector<Case> at_load(); std::vector<Case> all(); }
namespace gemv_cases { std::vector<Case> at_load(); std::vector<Case> all(); }
namespace per_layer_inputs_cases { std::vector<Case> all(); }
namespace add_rms_norm_cases { std::vector<Case> at_load(); std::vector<Case> all(); }
namespace moe_route_cases { std::vector<Case> all(); }
namespace rows_cases { std::vector<Case> sum_partials(); std::vector<Case> copy_rows(); }
namespace sample_adjust_cases { std::vector<Case> all(); }
namespace sample_collect_cases { std::vector<Case> all(); }
namespace sample_count_cases { std::vector<Case> all(); }
namespace sample_mask_cases { std::vector<Case> all(); }
namespace sample_pick_cases { std::vector<Case> all(); }
namespace softcap_cases { std::vector<Case> all(); }
namespace softmax_cases { std::vector<Case> softmax(); std::vector<Case> softmax_backward(); }
namespace qk_norm_rope_cases { std::vector<Case> qk_norm_rope(); std::vector<Case> qk_norm_rope_backward(); }
namespace tower_cases { std::vector<Case> clipped_gemm(); std::vector<Case> patch_heads(); std::vector<Case> softmax_rows(); }
namespace to_limbs_cases { std::vector<Case> all(); }
namespace expert_cases { std::vector<Case> expert_lists(); std::vector<Case> moe_route_backward(); }
namespace rms_norm_cases { std::vector<Case> rms_norm(); std::vector<Case> rms_norm_backward(); }
namespace rope_table_cases { std::vector<Case> all(); }
namespace gemv_persistent_cases { std::vector<Case> at_load(); std::vector<Case> all(); }
// clang-format on

}  // namespace lapidary::kernels::check
