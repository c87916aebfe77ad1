// The cases of every kernel, one file NAME_cases.cpp each, with a namespace of that name: they all have a Shape. What is
// not tried at load need not be in what everybody downloads.
#pragma once

#include "kernels/check/case.h"

namespace lapidary::kernels::check {

struct Suite {
    const Kernel& kernel;
    std::vector<Case> (*cases)();
};
std::span<const Suite> suites();
// Those that a model's first load runs: where drivers have been seen to go wrong, and where most of the time goes.
std::span<const Suite> load_suites();

// clang-format off: a list
namespace adamw_cases { std::vector<Case> squares(); std::vector<Case> clip(); std::vector<Case> adamw(); }
namespace argmax_cases { std::vector<Case> all(); }
namespace attention_cases { std::vector<Case> all(); }
namespace attention_decode_cases { std::vector<Case> at_load(); std::vector<Case> all(); }
namespace attention_merge_cases { std::vector<Case> all(); }
namespace combine_cases { std::vector<Case> all(); }
namespace cross_entropy_cases { std::vector<Case> cross_entropy(); std::vector<Case> cross_entropy_back(); }
namespace gate_cases { std::vector<Case> gate(); std::vector<Case> gate_back(); }
namespace gather_cases { std::vector<Case> all(); }
namespace gemm_cases { std::vector<Case> all(); }
namespace heads_cases { std::vector<Case> at_load(); std::vector<Case> all(); }
namespace matmul_back_cases { std::vector<Case> all(); }
namespace matmul_cases { std::vector<Case> at_load(); std::vector<Case> all(); }
namespace matvec_cases { std::vector<Case> at_load(); std::vector<Case> all(); }
namespace per_layer_cases { std::vector<Case> all(); }
namespace residual_norm_cases { std::vector<Case> at_load(); std::vector<Case> all(); }
namespace route_cases { std::vector<Case> all(); }
namespace rows_cases { std::vector<Case> sum_parts(); std::vector<Case> take_rows(); }
namespace sample_adjust_cases { std::vector<Case> all(); }
namespace sample_collect_cases { std::vector<Case> all(); }
namespace sample_count_cases { std::vector<Case> all(); }
namespace sample_mask_cases { std::vector<Case> all(); }
namespace sample_pick_cases { std::vector<Case> all(); }
namespace softcap_cases { std::vector<Case> all(); }
namespace softmax_cases { std::vector<Case> softmax(); std::vector<Case> softmax_back(); }
namespace split_heads_cases { std::vector<Case> split_heads(); std::vector<Case> split_heads_back(); }
namespace to_planes_cases { std::vector<Case> all(); }
namespace train_expert_cases { std::vector<Case> expert_lists(); std::vector<Case> route_back(); }
namespace train_norm_cases { std::vector<Case> norm(); std::vector<Case> norm_back(); }
namespace turns_cases { std::vector<Case> all(); }
namespace walk_cases { std::vector<Case> at_load(); std::vector<Case> all(); }
// clang-format on

}  // namespace lapidary::kernels::check
