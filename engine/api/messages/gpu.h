// gpu.*: arguments and results.
#pragma once

#include "api/messages/common.h"

namespace lapidary::api {

struct GpuCheckArgs {
    std::vector<std::string> without;
    std::vector<std::string> kernels;
    std::vector<std::string> formats;
    bool quick = false;
};
ARGUMENTS(GpuCheckArgs,
          MEMBER(without, "features to do without, such as subgroups; only the GPU's first use decides").at_most(64),
          MEMBER(kernels, "names; all of them unless told").at_most(64),
          MEMBER(formats, "of weights, such as q4_k; all of them unless told").at_most(64),
          MEMBER(quick, "one case for each kernel, variant and format: what a model's first load can afford"));

struct CheckedCase {
    std::string kernel;
    std::string format;
    std::string variant;
    std::string shape;
    double error = 0;
    double limit = 0;
    double max_error = 0;
    bool ok = false;
    std::optional<std::string> problem;
};
MESSAGE(CheckedCase, MEMBER(kernel, ""), MEMBER(format, "empty for kernels that read no weights"),
        MEMBER(variant, "how threads add up: shared or subgroup; empty where there is no choice"), MEMBER(shape, ""),
        MEMBER(error, "relative, L2"), MEMBER(limit, "the most it may be"),
        MEMBER(max_error, "the largest difference of a single number"), MEMBER(ok, ""),
        MEMBER(problem, "what no tolerance covers, in words"));

struct GpuCheckResult {
    std::string adapter;
    bool subgroups = false;
    int64_t subgroup_min = 0;
    std::vector<CheckedCase> cases;
    int64_t failed = 0;
    double ms = 0;
};
MESSAGE(GpuCheckResult, MEMBER(adapter, "the GPU in words"), MEMBER(subgroups, "whether it has them"),
        MEMBER(subgroup_min, "threads in one, at least; 0: not known"),
        MEMBER(cases, "every kernel against its reference"), MEMBER(failed, "how many"),
        MEMBER(ms, "how long it took"));

struct GpuBandwidthResult {
    std::optional<double> bytes_per_second;
};
MESSAGE(GpuBandwidthResult,
        MEMBER(bytes_per_second,
               "what a plain copy of a large buffer reads and writes, by the GPU's clock, if it has one"));

}  // namespace lapidary::api
