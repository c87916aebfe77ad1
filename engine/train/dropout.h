// Which inputs of an update's A are dropped: a pure function, so that every backend drops the same ones and a layer that
// is computed again drops them again.
#pragma once

#include <cstdint>

#include "sample/random.h"

namespace lapidary::train {

// The two words that, with the element's number, decide. `update`: its number in the adapter.
struct DropoutKey {
    uint32_t x, y;
};
constexpr DropoutKey dropout_key(uint64_t seed, uint32_t update) {
    const sample::Mixed mixed = sample::mix(uint32_t(seed), uint32_t(seed >> 32), update);
    return {mixed.x, mixed.y};
}

// element: position in the sequence · columns + column. What is kept counts 1 / (1 − probability) times.
constexpr bool dropped(DropoutKey key, uint32_t element, float probability) {
    return float(sample::mix(key.x, key.y, element).x >> 8) * 0x1p-24f < probability;
}

}  // namespace lapidary::train
