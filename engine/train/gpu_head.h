// From the last layer's output to the loss, and back to its gradient. Of the logits only a tile of the vocabulary exists at a
// time: the tiles come once for the sums, and once more for the gradient.
#pragma once

#include "kernels/train/cross_entropy.h"
#include "train/recording.h"

namespace lapidary::train {

class GpuHead {
  public:
    GpuHead(const infer::GpuModel& model, const TrainTensors& t);

    [[nodiscard]] uint32_t tiles() const { return uint32_t(tiles_.size()); }
    // What a tile adds to the sums; the tiles come in order.
    void record_loss(const Recording& r, uint32_t tile) const;
    // What it adds to the gradient, once all have been seen; the last one leaves that in dh.
    void record_gradient(const Recording& r, uint32_t tile) const;

  private:
    struct Tile {
        kernels::Weights w;
        kernels::VocabularyTile tokens;
    };
    static void find_logits(const Recording& r, const Tile& tile);

    std::vector<Tile> tiles_;
};

}  // namespace lapidary::train
