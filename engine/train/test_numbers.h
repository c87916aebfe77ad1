// Numbers for tests of training: the same ones every time.
#pragma once

#include <cstdint>
#include <vector>

#include "sample/random.h"

namespace lapidary::train {

// Between −1 and 1.
inline std::vector<float> numbers(size_t count, uint64_t seed) {
    std::vector<float> out(count);
    for (size_t i = 0; i < count; ++i) out[i] = 2 * sample::uniform(seed, uint32_t(i)) - 1;
    return out;
}

}  // namespace lapidary::train
