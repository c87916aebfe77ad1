// What a tower multiplies with. The rest of a tower does not know where its products are computed.
#pragma once

#include <memory>

#include "model/runner.h"
#include "towers/projector.h"

namespace lapidary::towers {

class Products {
  public:
    Products() = default;
    Products(const Products&) = delete;
    Products& operator=(const Products&) = delete;
    virtual ~Products() = default;

    // clamp(W · clamp(x)). x: [t, cols] → [t, rows]. Lets the host breathe now and then.
    [[nodiscard]] virtual Task<Result<std::vector<float>>> apply(const Linear& linear, std::span<const float> x,
                                                                 Breathe breathe) const = 0;
    // Rows of a table, one after the other.
    [[nodiscard]] virtual Task<Result<std::vector<float>>> rows(const Weight& table, uint64_t first,
                                                                uint64_t count) const = 0;
};

// On the CPU, with all weights loaded.
std::unique_ptr<const Products> cpu_products(std::shared_ptr<const reference::Weights> weights);

// A matrix whose inputs and outputs nothing clips.
inline Linear unclipped(const Weight& weight) {
    return {.weight = weight, .bounds = {}, .packed = {}};
}

// All that a tower multiplies with.
std::vector<Linear> linears_of(const VisionTable& table);
std::vector<Linear> linears_of(const AudioTable& table);

}  // namespace lapidary::towers
