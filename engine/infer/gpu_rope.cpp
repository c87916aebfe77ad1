#include "infer/gpu_rope.h"

#include <cmath>

#include "reference/ops.h"

namespace lapidary::infer {
namespace {

// Turns a position, in three parts: the first two have 12 significant bits (heads.wgsl says why).
void append_rate(double radians, std::vector<float>& out) {
    const auto coarse = [](double value) {
        if (value == 0) return 0.0;
        int exponent = 0;
        const double mantissa = std::frexp(value, &exponent);
        return std::ldexp(std::trunc(std::ldexp(mantissa, 12)), exponent - 12);
    };
    const double turns = radians / (2 * 3.14159265358979323846);
    const double first = coarse(turns);
    const double second = coarse(turns - first);
    out.insert(out.end(), {float(first), float(second), float(turns - first - second), 0.0f});
}

std::vector<float> rates_of(const std::vector<double>& frequencies) {
    std::vector<float> out;
    // Frequencies that stand for "never turns" are below what a float can hold: zero.
    for (const double f : frequencies) append_rate(f < 1e-20 ? 0.0 : f, out);
    return out;
}

}  // namespace

Result<RopeRates> rope_rates(GpuResources& resources, const GpuModel& model) {
    const model::Config& config = model.config();
    std::vector<float> divisors = model.vector(model.table().rope_freqs);
    RopeRates out;
    for (const model::LayerConfig& layer : config.layers) {
        if (layer.sliding && out.sliding.buffer == 0) {
            out.sliding = TRY(resources.floats(
                rates_of(reference::rope_frequencies(layer.head_dim, config.rope_base_sliding, {})), "rope sliding"));
        }
        if (!layer.sliding && out.full.buffer == 0) {
            if (divisors.empty()) {
                divisors = reference::default_rope_divisors(layer.head_dim, config.rotary_fraction_full);
            }
            out.full = TRY(resources.floats(
                rates_of(reference::rope_frequencies(layer.head_dim, config.rope_base_full, divisors)), "rope full"));
        }
    }
    return out;
}

}  // namespace lapidary::infer
