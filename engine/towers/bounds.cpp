#include "towers/bounds.h"

#include <algorithm>
#include <cmath>

namespace lapidary::towers {
namespace {

// Four neighbours, all zero where nothing is clipped.
Result<Bounds> packed_bounds(const Linear& linear, const reference::Weights& weights) {
    const std::vector<float> all = weights.vector(linear.packed);
    if (all.size() < size_t(linear.packed_at) + 4) return Bounds{};
    const auto four = std::span(all).subspan(linear.packed_at, 4);
    if (std::ranges::all_of(four, [](float v) { return v == 0; })) return Bounds{};
    if (std::ranges::any_of(four, [](float v) { return std::isnan(v); })) {
        return fail(Code::bad_file, "the tensor '{}' has a bound that is not a number", linear.packed.name);
    }
    return Bounds{.input = {four[0], four[1]}, .output = {four[2], four[3]}};
}

}  // namespace

void clip(std::span<float> x, const Range& range) {
    if (range.bounds_nothing()) return;
    for (float& v : x) v = std::min(std::max(v, range.low), range.high);
}

Result<Bounds> bounds_of(const Linear& linear, const reference::Weights& weights) {
    const bool scalars = std::ranges::any_of(linear.bounds, [](const Weight& weight) { return weight.present(); });
    if (!scalars) return packed_bounds(linear, weights);
    Bounds out;
    const std::array<float*, 4> places = {&out.input.low, &out.input.high, &out.output.low, &out.output.high};
    for (size_t i = 0; i < places.size(); ++i) {
        if (!linear.bounds[i].present()) continue;
        const std::vector<float> value = weights.vector(linear.bounds[i]);
        if (value.size() != 1 || std::isnan(value[0])) {
            return fail(Code::bad_file, "the bound '{}' is not a number", linear.bounds[i].name);
        }
        *places[i] = value[0];
    }
    if (linear.zero_is_none) {
        if (linear.bounds[1].present() && out.input.high == 0) out.input = {};
        if (linear.bounds[3].present() && out.output.high == 0) out.output = {};
    }
    return out;
}

std::vector<const Weight*> to_load(const std::vector<Weight>& all) {
    std::vector<const Weight*> out;
    for (const Weight& weight : all) out.push_back(&weight);
    return out;
}

}  // namespace lapidary::towers
