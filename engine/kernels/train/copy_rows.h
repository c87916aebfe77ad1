// y[t] = x[rows[t]] (copy_rows.wgsl).
#pragma once

#include <vector>

#include "base/checked.h"
#include "kernels/dispatch.h"
#include "kernels/wgsl_modules.h"

namespace lapidary::kernels {

struct CopyRows {
    gpu::Tensor rows, x, y;
    uint32_t cols = 0;
    uint32_t count = 0;                     // of rows
    std::vector<uint32_t> known_rows = {};  // a few that are known now, in place of `rows`

    [[nodiscard]] Result<Dispatch> dispatch(const Target&) const {
        using B = wgsl::copy_rows::Binding;
        Call<wgsl::copy_rows> d({.kCols = cols});
        if (known_rows.empty()) {
            d.read(B::rows, rows);
        } else {
            const auto* bytes = reinterpret_cast<const uint8_t*>(known_rows.data());
            d.bind_words(uint8_t(B::rows), {bytes, known_rows.size() * sizeof(uint32_t)});
        }
        return d.read(B::x, x).write(B::y, y).workgroups(ceil_div(cols, 64), count);
    }
};

}  // namespace lapidary::kernels
