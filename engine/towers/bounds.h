// What a linear layer's inputs and outputs are clipped to.
#pragma once

#include <limits>
#include <span>

#include "reference/weights.h"
#include "towers/tables.h"

namespace lapidary::towers {

struct Range {
    float low = -std::numeric_limits<float>::infinity();
    float high = std::numeric_limits<float>::infinity();

    [[nodiscard]] bool bounds_nothing() const { return low == Range{}.low && high == Range{}.high; }
};

struct Bounds {
    Range input;
    Range output;
};

void clip(std::span<float> x, const Range& range);

// From loaded weights. A missing bound is none; scalars of a layer come before the packed ones.
Result<Bounds> bounds_of(const Linear& linear, const reference::Weights& weights);

// Every weight that a tower needs, as reference::Weights loads them. `all` must outlive the loading.
std::vector<const Weight*> to_load(const std::vector<Weight>& all);

}  // namespace lapidary::towers
