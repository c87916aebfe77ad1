#include "kernels/kernel.h"

#include "kernels/wgsl_sources.h"

namespace lapidary::kernels {
namespace {
constexpr auto kRead = gpu::Access::read;
constexpr auto kWrite = gpu::Access::write;
}  // namespace

const Kernel kMatvec{"matvec", wgsl::matvec, {kRead, kRead, kRead, kRead, kWrite}, 5, true, true};
const Kernel kMatmul{"matmul", wgsl::matmul, {kRead, kRead, kRead, kRead, kWrite}, 5, true, false};
const Kernel kGather{"gather", wgsl::gather, {kRead, kRead, kRead, kWrite}, 4, true, false};
const Kernel kResidualNorm{
    "residual_norm", wgsl::residual_norm, {kRead, kRead, kRead, kRead, kWrite, kWrite}, 6, false, true};
const Kernel kHeads{"heads", wgsl::heads, {kRead, kRead, kRead, kWrite, kWrite, kWrite}, 6, false, true};
const Kernel kAttention{"attention", wgsl::attention, {kRead, kRead, kRead, kRead, kWrite, kWrite}, 6, false, false};
const Kernel kAttentionMerge{"attention_merge", wgsl::attention_merge, {kRead, kRead, kWrite}, 3, false, false};
const Kernel kPerLayer{"per_layer", wgsl::per_layer, {kRead, kRead, kRead, kRead, kWrite}, 5, false, true};
const Kernel kRoute{"route", wgsl::route, {kRead, kRead, kRead, kWrite, kWrite}, 5, false, false};
const Kernel kCombine{"combine", wgsl::combine, {kRead, kRead, kRead, kWrite}, 4, false, false};
const Kernel kArgmax{"argmax", wgsl::argmax, {kWrite, kRead, kWrite, kWrite, kWrite}, 5, false, false};

std::string shader(const Kernel& kernel, Format format, Reduction reduction) {
    const bool subgroups = kernel.reduces && reduction == Reduction::subgroup;
    std::string out;
    if (subgroups) out += "enable subgroups;\n";
    out += wgsl::common;
    if (kernel.reduces) out += subgroups ? wgsl::reduce_subgroup : wgsl::reduce_shared;
    if (kernel.reads_weights) out += format_source(format);
    return out + std::string(kernel.source);
}

}  // namespace lapidary::kernels
