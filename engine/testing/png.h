// Just enough of PNG to read the fixtures: 8 or 16 bits, not interlaced, and nothing that is wrong.
#pragma once

#include <optional>
#include <string_view>

#include "base/byte_source.h"
#include "image/pixels.h"

namespace lapidary::testing {

struct Png {
    uint32_t width = 0;
    uint32_t height = 0;
    image::Layout layout = image::Layout::rgb8;
    Bytes pixels;
};

// A file of the repository.
std::optional<Png> read_png(std::string_view path);

}  // namespace lapidary::testing
