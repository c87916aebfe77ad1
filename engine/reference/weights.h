// A model's weights in memory, as the CPU backend needs them.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/cancel.h"
#include "base/task.h"
#include "gguf/file.h"
#include "model/weights.h"
#include "reference/matrix.h"

namespace lapidary::reference {

// Bytes so far, bytes in all.
using Progress = std::function<void(uint64_t done, uint64_t total)>;

class Weights {
  public:
    // Reads every weight of the table. Fails with a sentence, before reading anything, when they cannot fit.
    static Task<Result<std::shared_ptr<const Weights>>> load(const gguf::File& file, const model::WeightTable& table,
                                                             Progress progress, Cancel cancel);

    // The same for any list of weights: towers have tables of their own.
    static Task<Result<std::shared_ptr<const Weights>>> load(const gguf::File& file,
                                                             std::vector<const model::Weight*> wanted,
                                                             Progress progress, Cancel cancel);

    // An absent weight gives a matrix that is not present().
    [[nodiscard]] Matrix matrix(const model::Weight& weight) const;
    // A small weight as floats, empty when absent.
    [[nodiscard]] std::vector<float> vector(const model::Weight& weight) const;
    [[nodiscard]] uint64_t bytes() const { return total_; }

  private:
    std::unordered_map<std::string, std::unique_ptr<uint8_t[]>> data_;
    uint64_t total_ = 0;
};

}  // namespace lapidary::reference
