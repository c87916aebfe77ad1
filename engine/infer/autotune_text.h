// What was found out about a GPU as a line of text, so that the next process need not find it out again. Whoever keeps it
// need not understand it, and what comes back is not trusted: a line that is damaged or was written for another GPU or
// other kernels counts as none, and no line gives a GPU more than it says it can do.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/device.h"
#include "kernels/target.h"
#include "kernels/weight_format.h"

namespace lapidary::infer {

struct KnownGpu {
    kernels::Variant variant;
    uint32_t compute_units = 0;
    std::vector<kernels::Format> tested;  // formats the variant has passed with
};

std::string autotune_text(const gpu::Info& info, const KnownGpu& known);

// The first of the lines that is about this GPU and these kernels.
std::optional<KnownGpu> read_autotune_text(const gpu::Info& info, std::string_view lines);

}  // namespace lapidary::infer
