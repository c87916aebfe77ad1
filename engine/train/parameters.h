// The numbers that training changes, one behind the other: each update's A, then its B. Gradients and the optimizer's
// moments have the same order.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "lora/adapter.h"
#include "train/products.h"

namespace lapidary::train {

struct Slot {
    uint32_t layer = 0;
    lora::Target target = lora::Target::q;
    UpdateShape shape{};
    size_t a = 0;  // where A begins: [rank, in]
    size_t b = 0;  // where B begins: [out, rank]
};

class Layout {
  public:
    // Refuses an adapter that does not fit the model, and one with updates that cannot be trained.
    static Result<Layout> of(const lora::Adapter& adapter, const model::WeightTable& table);

    [[nodiscard]] const std::vector<Slot>& slots() const { return slots_; }
    [[nodiscard]] size_t size() const { return size_; }
    // The layer's update of that matrix, or null.
    [[nodiscard]] const Slot* find(uint32_t layer, lora::Target target) const;
    // The first layer with an update: below it no gradient is needed.
    [[nodiscard]] uint32_t lowest_layer() const { return slots_.front().layer; }
    // Whether another adapter has the same updates in the same order.
    [[nodiscard]] bool same(const lora::Adapter& adapter) const;

    [[nodiscard]] std::vector<float> flatten(const lora::Adapter& adapter) const;
    [[nodiscard]] std::vector<lora::Update> unflatten(std::span<const float> numbers) const;

  private:
    std::vector<Slot> slots_;
    size_t size_ = 0;
};

}  // namespace lapidary::train
