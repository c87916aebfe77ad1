// Which examples make which step: a pure function of the examples, the settings and the step's number, so that a
// training can go on anywhere.
#pragma once

#include <memory>
#include <vector>

#include "train/backend.h"
#include "train/example.h"
#include "train/settings.h"

namespace lapidary::train {

using Examples = std::vector<Example>;

class Batches {
  public:
    // Keeps what counts: examples that have nothing to learn, perhaps because they were cut, are left out.
    static Result<Batches> create(std::shared_ptr<const Examples> examples, const Settings& settings);

    [[nodiscard]] uint64_t steps_of_epoch() const;
    [[nodiscard]] uint64_t steps() const { return steps_; }
    [[nodiscard]] size_t training_examples() const { return training_.size(); }
    [[nodiscard]] size_t validation_examples() const { return validation_.size(); }
    [[nodiscard]] size_t cut_examples() const { return cut_; }
    // Tokens of the longest sequence there can be.
    [[nodiscard]] uint32_t longest() const;
    // Changes when the examples or what decides their order does.
    [[nodiscard]] uint64_t fingerprint() const { return fingerprint_; }

    // The examples of a step, packed.
    [[nodiscard]] std::vector<Sequence> step(uint64_t number) const;
    [[nodiscard]] std::vector<Sequence> validation() const;

  private:
    [[nodiscard]] std::vector<uint32_t> order_of(uint64_t epoch) const;
    [[nodiscard]] std::vector<Sequence> packed(std::span<const uint32_t> which) const;
    [[nodiscard]] size_t tokens_of(uint32_t example) const;

    std::shared_ptr<const Examples> examples_;
    uint32_t per_step_ = 1;
    uint32_t sequence_ = 0;
    uint64_t seed_ = 0;
    uint64_t steps_ = 0;
    uint64_t fingerprint_ = 0;
    size_t cut_ = 0;
    std::vector<uint32_t> training_, validation_;
};

}  // namespace lapidary::train
