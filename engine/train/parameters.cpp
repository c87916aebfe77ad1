#include "train/parameters.h"

#include <algorithm>

namespace lapidary::train {
namespace {

Status check_trainable(const lora::Update& update) {
    if (!lora::in_layer(update.target)) {
        return fail(Code::unsupported, "'{}' cannot be trained: only matrices of the layers can",
                    lora::label_of(update));
    }
    return {};
}

}  // namespace

Result<Layout> Layout::of(const lora::Adapter& adapter, const model::WeightTable& table) {
    if (adapter.updates.empty()) return fail(Code::invalid_argument, "the adapter has nothing to train");
    Layout out;
    for (const lora::Update& update : adapter.updates) TRY(check_trainable(update));
    TRY(lora::check_fits(adapter, table));
    for (const lora::Update& update : adapter.updates) {
        if (!out.slots_.empty() && update.layer < out.slots_.back().layer) {
            return fail(Code::invalid_argument, "the adapter's updates are not in the order of the layers");
        }
        Slot slot{.layer = update.layer,
                  .target = update.target,
                  .shape = {.rank = update.rank, .in = update.in, .out = update.out, .scale = update.scale},
                  .a = out.size_,
                  .b = out.size_ + update.a.size()};
        out.size_ = slot.b + update.b.size();
        out.slots_.push_back(slot);
    }
    return out;
}

const Slot* Layout::find(uint32_t layer, lora::Target target) const {
    const auto it =
        std::ranges::find_if(slots_, [&](const Slot& slot) { return slot.layer == layer && slot.target == target; });
    return it == slots_.end() ? nullptr : &*it;
}

bool Layout::same(const lora::Adapter& adapter) const {
    return std::ranges::equal(slots_, adapter.updates, [](const Slot& slot, const lora::Update& update) {
        return slot.layer == update.layer && slot.target == update.target && slot.shape.rank == update.rank &&
               slot.shape.in == update.in && slot.shape.out == update.out && slot.shape.scale == update.scale &&
               update.a.size() == slot.shape.rank * slot.shape.in &&
               update.b.size() == slot.shape.rank * slot.shape.out;
    });
}

std::vector<float> Layout::flatten(const lora::Adapter& adapter) const {
    std::vector<float> out;
    out.reserve(size_);
    for (const lora::Update& update : adapter.updates) {
        out.insert(out.end(), update.a.begin(), update.a.end());
        out.insert(out.end(), update.b.begin(), update.b.end());
    }
    return out;
}

std::vector<lora::Update> Layout::unflatten(std::span<const float> numbers) const {
    std::vector<lora::Update> out;
    for (const Slot& slot : slots_) {
        const auto [rank, in, width, scale] = slot.shape;
        const auto a = numbers.subspan(slot.a, rank * in);
        const auto b = numbers.subspan(slot.b, rank * width);
        out.push_back({.layer = slot.layer,
                       .target = slot.target,
                       .rank = uint32_t(rank),
                       .in = uint32_t(in),
                       .out = uint32_t(width),
                       .scale = scale,
                       .a = {a.begin(), a.end()},
                       .b = {b.begin(), b.end()}});
    }
    return out;
}

}  // namespace lapidary::train
