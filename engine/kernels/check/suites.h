// The cases of every kernel, one file NAME_cases.cpp each, with a namespace of that name: they all have a Shape.
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
namespace argmax_cases { std::vector<Case> all(); }
namespace attention_cases { std::vector<Case> all(); }
namespace attention_decode_cases { std::vector<Case> all(); }
namespace attention_merge_cases { std::vector<Case> all(); }
namespace combine_cases { std::vector<Case> all(); }
namespace gather_cases { std::vector<Case> all(); }
namespace heads_cases { std::vector<Case> all(); }
namespace matmul_cases { std::vector<Case> all(); }
namespace matvec_cases { std::vector<Case> all(); }
namespace per_layer_cases { std::vector<Case> all(); }
namespace residual_norm_cases { std::vector<Case> all(); }
namespace route_cases { std::vector<Case> all(); }
namespace sample_adjust_cases { std::vector<Case> all(); }
namespace sample_mask_cases { std::vector<Case> all(); }
namespace sample_collect_cases { std::vector<Case> all(); }
namespace sample_count_cases { std::vector<Case> all(); }
namespace sample_pick_cases { std::vector<Case> all(); }
namespace to_planes_cases { std::vector<Case> all(); }
// clang-format on

}  // namespace lapidary::kernels::check
