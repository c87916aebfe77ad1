// y = (cos, sin) of every pair's angle at the token's position (rope_table.wgsl), once a token for all layers.
#pragma once

#include "base/checked.h"
#include "kernels/dispatch.h"
#include "kernels/wgsl_modules.h"

namespace lapidary::kernels {

struct RopeTable {
    gpu::Tensor frequencies, y;
    uint64_t pairs = 0;

    [[nodiscard]] Result<Dispatch> dispatch(const Target&) const {
        using B = wgsl::rope_table::Binding;
        return Call<wgsl::rope_table>({.kPairs = pairs})
            .read(B::frequencies, frequencies)
            .write(B::rope_table, y)
            .workgroups(ceil_div(pairs, 64));
    }
};

}  // namespace lapidary::kernels
