// Every kernel against a slow and obvious version of itself on the CPU, on the device there is. Drivers do lie.
//
// A new kernel joins with a file NAME_cases.cpp beside this one, which gives a list of cases (case.h), and a line in
// suites.cpp. Who runs them says which suites it wants, and carries no others.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gpu/device.h"
#include "kernels/formats.h"
#include "kernels/target.h"

namespace lapidary::kernels::check {

struct Suite;  // suites.h

struct Options {
    std::vector<std::string> kernels;  // by name; empty: all
    std::vector<Format> formats;       // of weights; empty: all
    bool quick = false;                // few cases for each kernel, variant and format
    bool brief = false;                // only the first of those
    std::optional<Variant> variant;    // only this one; empty: all that the device allows
};

// One case in one variant.
struct Outcome {
    std::string kernel;
    std::string format;   // "i8 from IQ4_XS"; empty when the kernel reads no weights
    std::string variant;  // "subgroup limbs"; empty when there is only one
    std::string shape;
    double error = 0;      // relative L2, of the array that is furthest off
    double max_error = 0;  // the largest difference
    double limit = 0;
    bool ok = false;
    std::string problem;  // what else was wrong, in words
};

using Progress = std::function<void(uint64_t done, uint64_t total)>;

// Runs on an opened device. An error is returned only when nothing can be said about the kernels: an unknown name in
// the options, a lost device, a cancelled call.
Task<Result<std::vector<Outcome>>> run(gpu::Device& device, std::span<const Suite> suites, Options options,
                                       Progress progress, Cancel cancel);

}  // namespace lapidary::kernels::check
