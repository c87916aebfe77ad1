// From a picture of any size to the one that the tower is shown.
#pragma once

#include <vector>

#include "image/pixels.h"

namespace lapidary::image {

struct Size {
    uint32_t width = 0;
    uint32_t height = 0;
    bool operator==(const Size&) const = default;
};

// As many squares of `side` pixels as fit into the budget, in the picture's own proportions: up or down, as the reference does.
Result<Size> target_size(uint32_t width, uint32_t height, uint32_t budget, uint32_t side);

// [height][width][red, green, blue]
struct Picture {
    Size size;
    std::vector<uint8_t> rgb;
};

// Bicubic, averaging over all that a pixel covers where the picture becomes smaller: first along x, rounded to whole levels, then
// along y. One pass in floats would be up to 13 levels off at sharp edges.
Picture resize(const Pixels& pixels, Size size);

}  // namespace lapidary::image
