// Keys and values of every position seen so far, in f32, for the layers that own any.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/config.h"

namespace lapidary::reference {

// Everything is kept, also on sliding layers: the window is applied when attending. Wasteful and obviously right.
class KvCache {
  public:
    explicit KvCache(const model::Config& config) : keys_(config.layers.size()), values_(config.layers.size()) {}

    // k, v: [positions, kv_heads, head_dim]
    void append(uint32_t layer, std::span<const float> k, std::span<const float> v) {
        keys_[layer].insert(keys_[layer].end(), k.begin(), k.end());
        values_[layer].insert(values_[layer].end(), v.begin(), v.end());
    }
    [[nodiscard]] std::span<const float> keys(uint32_t layer) const { return keys_[layer]; }
    [[nodiscard]] std::span<const float> values(uint32_t layer) const { return values_[layer]; }

    // Forgets all positions from `length` on.
    void truncate(const model::Config& config, uint32_t length) {
        for (uint32_t i = 0; i < keys_.size(); ++i) {
            const size_t floats = size_t(length) * config.layers[i].kv_width();
            if (keys_[i].size() > floats) keys_[i].resize(floats);
            if (values_[i].size() > floats) values_[i].resize(floats);
        }
    }

  private:
    std::vector<std::vector<float>> keys_;
    std::vector<std::vector<float>> values_;
};

}  // namespace lapidary::reference
