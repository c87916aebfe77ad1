// The towers that see, in f32: from a picture to soft tokens. Slow and obvious.
#pragma once

#include <memory>

#include "towers/linear.h"
#include "towers/products.h"
#include "towers/projector.h"

namespace lapidary::towers {

// A picture as the tower is shown it: [height][width][red, green, blue], sides multiples of VisionConfig::side().
struct Shown {
    uint32_t width = 0;
    uint32_t height = 0;
    std::span<const uint8_t> rgb;
};

enum class Activation : uint8_t {
    gelu,        // the tanh form, as the model was trained
    quick_gelu,  // x · sigmoid(1.702 x), as llama.cpp computes
};

// Refuses pictures whose sides the tower's table of positions does not reach, or that are no multiples of its patches.
Status check_shown(const VisionConfig& config, uint32_t width, uint32_t height);

// [patches, 3 · patch²] in rows from the top; a row in the order channel, y, x. Levels from 0 to 1, or of gemma4v from -1 to 1.
std::vector<float> patches_of(const VisionConfig& config, const Shown& shown);

// What a position adds to the angle of each pair of a half of a head, in radians. [head_dim / 4]
std::vector<double> turning_rates(const VisionConfig& config);

class VisionForward {
  public:
    // With other products than the CPU's, the weights need to be those that nothing is multiplied with.
    VisionForward(Vision tower, std::shared_ptr<const reference::Weights> weights, Activation activation,
                  std::shared_ptr<const Products> products = nullptr)
        : tower_(std::move(tower)),
          weights_(std::move(weights)),
          products_(products != nullptr ? std::move(products) : cpu_products(weights_)),
          activation_(activation) {}

    // [tokens, output]
    [[nodiscard]] Task<Result<std::vector<float>>> run(Shown shown, Listener listener) const;

    // What comes before the layers and behind them, for those who compute layers elsewhere.
    // What patches become, with their positions. [patches, width]
    [[nodiscard]] Task<Result<std::vector<float>>> embedded(Shown shown, const Listener& listener) const;
    // Pooled, standardised and projected. [tokens, output]
    [[nodiscard]] Task<Result<std::vector<float>>> finished(Shown shown, std::vector<float> h,
                                                            const Listener& listener) const;

  private:
    [[nodiscard]] Task<Status> layer(const VisionLayer& layer, Shown shown, std::span<float> h,
                                     const Breathe& breathe) const;
    [[nodiscard]] Task<Result<std::vector<float>>> attention(const VisionLayer& layer, Shown shown,
                                                             std::span<const float> x, const Breathe& breathe) const;
    void rotate(std::span<float> x, Shown shown) const;
    [[nodiscard]] std::vector<float> pooled(Shown shown, std::span<const float> h) const;
    [[nodiscard]] std::vector<float> normed(std::span<const float> x, const Weight& norm) const;

    Vision tower_;
    std::shared_ptr<const reference::Weights> weights_;
    std::shared_ptr<const Products> products_;
    Activation activation_;
};

}  // namespace lapidary::towers
