#include "image/video.h"

#include <algorithm>
#include <cmath>

namespace lapidary::image {

std::vector<Frame> frames_of(uint64_t count, double fps, uint32_t most) {
    const uint64_t taken = std::min<uint64_t>(count, most);
    std::vector<Frame> out(taken);
    for (uint64_t i = 0; i < taken; ++i) {
        out[i].index = i * count / taken;
        out[i].second = uint64_t(std::floor(double(out[i].index) / fps));
    }
    return out;
}

}  // namespace lapidary::image
