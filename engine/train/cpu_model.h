// What the CPU's training reads of a model: its weights, and the angles of RoPE for every position.
#pragma once

#include <memory>

#include "reference/small_weights.h"
#include "reference/weights.h"

namespace lapidary::train {

// cos and sin of every angle up to some position: a sequence needs each of them once a layer and head.
class RopeTable {
  public:
    RopeTable(std::span<const double> frequencies, uint32_t positions);

    // x: [heads, head_dim], turned in place; backwards for a gradient.
    void turn(std::span<float> x, uint32_t position, bool backwards) const;

  private:
    size_t half_;
    std::vector<float> cos_, sin_;  // [positions, half]
};

struct CpuModel {
    std::shared_ptr<const model::Config> config;
    std::shared_ptr<const model::WeightTable> table;
    std::shared_ptr<const reference::Weights> weights;
    reference::SmallWeights small;
};

}  // namespace lapidary::train
