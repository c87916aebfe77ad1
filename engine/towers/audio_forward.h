// The towers that hear, in f32: from log-mel features, or the waveform itself, to soft tokens. Slow and obvious.
#pragma once

#include <memory>

#include "towers/linear.h"
#include "towers/products.h"
#include "towers/projector.h"

namespace lapidary::towers {

// Tokens of so many frames of features (gemma4a), or samples (gemma4ua).
uint64_t audio_tokens(const AudioConfig& config, uint64_t count);

// A key is heard by queries up to so many frames after it, itself included.
inline constexpr uint32_t kPastFrames = 12;
inline constexpr float kScoreCap = 50;

// What queries and keys are multiplied with, besides the tensor of the file.
float query_scale(const AudioConfig& config);
float key_scale();
// Sines and cosines of the distances 0 … kPastFrames - 1. [kPastFrames, width]
std::vector<float> distance_waves(uint32_t width);

class AudioForward {
  public:
    // With other products than the CPU's, the weights need to be those that nothing is multiplied with.
    AudioForward(Audio tower, std::shared_ptr<const reference::Weights> weights,
                 std::shared_ptr<const Products> products = nullptr)
        : tower_(std::move(tower)),
          weights_(std::move(weights)),
          products_(products != nullptr ? std::move(products) : cpu_products(weights_)) {}

    // input: [frames, mel_bins] (gemma4a), or samples at 16 kHz (gemma4ua). → [tokens, output]
    [[nodiscard]] Task<Result<std::vector<float>>> run(std::span<const float> input, Listener listener) const;

  private:
    [[nodiscard]] Task<Result<std::vector<float>>> convolved(const AudioTable::Convolution& conv, uint32_t before,
                                                             uint32_t bins, std::span<const float> x,
                                                             const Breathe& breathe) const;
    [[nodiscard]] Task<Status> layer(const AudioLayer& layer, std::span<float> x, const Breathe& breathe) const;
    [[nodiscard]] Task<Status> feed_forward(const FeedForward& ffn, std::span<float> x, const Breathe& breathe) const;
    [[nodiscard]] Task<Result<std::vector<float>>> attention(const AudioLayer& layer, std::span<const float> x,
                                                             const Breathe& breathe) const;
    [[nodiscard]] Task<Status> convolution(const AudioLayer& layer, std::span<float> x, const Breathe& breathe) const;
    [[nodiscard]] Task<Result<std::vector<float>>> product(const Weight& weight, std::span<const float> x,
                                                           const Breathe& breathe) const;
    [[nodiscard]] std::vector<float> normed(std::span<const float> x, const Weight& norm) const;

    Audio tower_;
    std::shared_ptr<const reference::Weights> weights_;
    std::shared_ptr<const Products> products_;
};

}  // namespace lapidary::towers
