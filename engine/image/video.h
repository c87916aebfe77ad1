// Which frames of a video are looked at, and when they are.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lapidary::image {

struct Frame {
    uint64_t index = 0;
    uint64_t second = 0;
};

// `most` of them, evenly; all where there are not so many.
std::vector<Frame> frames_of(uint64_t count, double fps, uint32_t most);

}  // namespace lapidary::image
