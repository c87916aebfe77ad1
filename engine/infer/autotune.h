// Which variant of the kernels a GPU gets: the fastest of those that compute there what they should. Found out when the
// first model is loaded, with a few cases of the self-test (kernels/check) in the formats that the model has.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/device.h"
#include "kernels/target.h"
#include "kernels/weight_format.h"
#include "model/weights.h"

namespace lapidary::infer {

constexpr uint32_t kMaxComputeUnits = 4095;  // that are believed

struct Autotune {
    kernels::Variant variant;
    size_t cases = 0;        // of the self-test, that were run; 0: it was left out
    double selftest_ms = 0;  // how long it took
    double limbs_ms = 0;     // a matrix times a vector, with each form of activations; 0: not measured
    double floats_ms = 0;
    uint32_t compute_units = 0;      // that compute side by side; 0: not known
    std::vector<std::string> wrong;  // what had to be given up, and why
    bool remembered = false;         // from an earlier process, which knew the variant and the compute units
};

// What the device says it can do.
kernels::Variant wanted_variant(const gpu::Info& info);

// One that asks less of the device, after something was wrong (`only_products`: nothing but gemv); none below the
// safest.
std::optional<kernels::Variant> safer_variant(kernels::Variant variant, bool only_products);

// The formats of a model's matrices, the one with the most bytes first.
std::vector<kernels::Format> formats_of(const model::WeightTable& table);

// Remembers for one device what was found out.
class Autotuner {
  public:
    using Now = std::function<double()>;  // milliseconds

    // Fails when the device computes something wrongly however it is asked. `formats`: as formats_of gives them.
    Task<Result<Autotune>> choose(gpu::Device& device, std::vector<kernels::Format> formats, Now now, Cancel cancel);

    // Takes from texts of earlier processes, if one of them is about this device, what was not found out yet.
    void remember(const gpu::Info& info, std::string_view texts);
    // For the next process; empty before anything was found out.
    [[nodiscard]] std::string text(const gpu::Info& info) const;

  private:
    std::optional<Autotune> known_;
    std::vector<kernels::Format> tested_;
};

}  // namespace lapidary::infer
