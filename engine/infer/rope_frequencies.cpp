#include "infer/rope_frequencies.h"

#include <cmath>

#include "reference/ops.h"

namespace lapidary::infer {
namespace {

// Revolutions a position, in three parts: the first two have 12 significant bits (qk_norm_rope_store.wgsl says why).
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

}  // namespace

std::vector<float> rates_of(const std::vector<double>& frequencies) {
    std::vector<float> out;
    // Frequencies that stand for "never turns" are below what a float can hold: zero.
    for (const double f : frequencies) append_rate(f < 1e-20 ? 0.0 : f, out);
    return out;
}

Result<RopeFrequencies> rope_frequencies(kernels::Resources& resources, const GpuModel& model) {
    constexpr size_t kGrain = 2 * kernels::kBindingAlignment / sizeof(float);
    const model::Config& config = model.config();
    std::vector<float> divisors = model.vector(model.table().rope_freqs);
    std::vector<float> all;
    const auto append = [&](const std::vector<float>& rates) {
        all.resize((all.size() + kGrain - 1) / kGrain * kGrain);
        const gpu::Tensor place{.at = {0, all.size() * sizeof(float), rates.size() * sizeof(float)}};
        all.insert(all.end(), rates.begin(), rates.end());
        return place;
    };
    RopeFrequencies out;
    for (const model::LayerConfig& layer : config.layers) {
        if (layer.sliding && out.sliding.at.size == 0) {
            out.sliding = append(rates_of(reference::rope_frequencies(layer.head_dim, config.rope_base_sliding, {})));
        }
        if (!layer.sliding && out.full.at.size == 0) {
            if (divisors.empty()) {
                divisors = reference::default_rope_divisors(layer.head_dim, config.rotary_fraction_full,
                                                            config.rope_factor_full);
            }
            out.full = append(rates_of(reference::rope_frequencies(layer.head_dim, config.rope_base_full, divisors)));
        }
    }
    out.all.at = TRY(resources.floats(all, "rope frequencies"));
    for (gpu::Tensor* part : {&out.full, &out.sliding}) {
        if (part->at.size > 0) part->at.buffer = out.all.at.buffer;
    }
    return out;
}

}  // namespace lapidary::infer
