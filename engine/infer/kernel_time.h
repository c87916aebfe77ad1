// Where the GPU's time goes: a kind of dispatch, how many there are, and what all of them take.
#pragma once

#include <cstdint>
#include <string>

namespace lapidary::infer {

struct KernelTime {
    std::string label;
    uint32_t dispatches = 0;
    double ms = 0;
};

}  // namespace lapidary::infer
