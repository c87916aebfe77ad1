// The cases of every kernel, one file NAME_cases.cpp each.
#pragma once

#include "kernels/check/case.h"

namespace lapidary::kernels::check {

struct Suite {
    const Kernel& kernel;
    std::vector<Case> (*cases)();
};
std::span<const Suite> suites();

std::vector<Case> argmax_cases();
std::vector<Case> attention_cases();
std::vector<Case> attention_decode_cases();
std::vector<Case> attention_merge_cases();
std::vector<Case> combine_cases();
std::vector<Case> gather_cases();
std::vector<Case> heads_cases();
std::vector<Case> matmul_cases();
std::vector<Case> matvec_cases();
std::vector<Case> per_layer_cases();
std::vector<Case> residual_norm_cases();
std::vector<Case> route_cases();
std::vector<Case> sample_adjust_cases();
std::vector<Case> sample_collect_cases();
std::vector<Case> sample_count_cases();
std::vector<Case> sample_pick_cases();
std::vector<Case> softcap_cases();
std::vector<Case> to_planes_cases();

// Of training.
std::vector<Case> adamw_cases();
std::vector<Case> clip_cases();
std::vector<Case> cross_entropy_cases();
std::vector<Case> cross_entropy_back_cases();
std::vector<Case> expert_lists_cases();
std::vector<Case> gate_cases();
std::vector<Case> gate_back_cases();
std::vector<Case> gemm_cases();
std::vector<Case> matmul_back_cases();
std::vector<Case> norm_cases();
std::vector<Case> norm_back_cases();
std::vector<Case> route_back_cases();
std::vector<Case> softmax_cases();
std::vector<Case> softmax_back_cases();
std::vector<Case> split_heads_cases();
std::vector<Case> split_heads_back_cases();
std::vector<Case> squares_cases();
std::vector<Case> sum_parts_cases();
std::vector<Case> take_rows_cases();

}  // namespace lapidary::kernels::check
