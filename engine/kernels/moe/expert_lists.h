// Which slots each expert has, so that those of one can be multiplied together (expert_lists.wgsl).
#pragma once

#include "kernels/dispatch.h"
#include "kernels/wgsl_modules.h"

namespace lapidary::kernels {

struct ExpertLists {
    gpu::Tensor ids;    // [rows, used]
    gpu::Tensor lists;  // the experts' counts, then max_rows slots of each
    uint32_t experts = 0;
    uint32_t used = 0;
    uint32_t max_rows = 0;  // of an expert

    [[nodiscard]] Result<Dispatch> dispatch(const Target&) const {
        using B = wgsl::expert_lists::Binding;
        return Call<wgsl::expert_lists>({.kExperts = experts, .kTopK = used, .kMaxRows = max_rows})
            .read(B::ids, ids)
            .write(B::expert_lists, lists)
            .workgroups(experts);
    }
};

}  // namespace lapidary::kernels
