// A set of adapters in a machine's memory, with their scales.
#pragma once

#include <map>
#include <vector>

#include "cpu/model.h"
#include "lora/adapter.h"

namespace lapidary::cpu {

class Adapters {
  public:
    // y += scale · B · (A · x); of the embedding A's columns are looked up.
    struct Term {
        Matrix a, b;  // [rank, in], [out, rank]
        uint32_t y_at = 0;
        float scale = 1;
    };
    static Result<std::unique_ptr<Adapters>> create(const Model& model, std::span<const lora::Active> active);

    [[nodiscard]] std::span<const Term> terms(infer::LinearOf which) const;

  private:
    explicit Adapters(Heap& heap) : blocks_(heap) {}

    Blocks blocks_;
    std::map<std::pair<uint32_t, infer::Linear>, std::vector<Term>> terms_;
};

}  // namespace lapidary::cpu
