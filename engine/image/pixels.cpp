#include "image/pixels.h"

#include <array>

namespace lapidary::image {
namespace {

struct LayoutShape {
    std::string_view name;
    uint32_t pixel_bytes;
    uint32_t red, green, blue;
};

// In the order of Layout. 16 bits are little-endian: the high byte is the second.
constexpr std::array<LayoutShape, 5> kLayouts = {{
    {"rgba8", 4, 0, 1, 2},
    {"rgb8", 3, 0, 1, 2},
    {"grey8", 1, 0, 0, 0},
    {"rgba16", 8, 1, 3, 5},
    {"grey16", 2, 1, 1, 1},
}};

}  // namespace

Result<Layout> layout_from(std::string_view name) {
    for (size_t i = 0; i < kLayouts.size(); ++i) {
        if (kLayouts[i].name == name) return Layout(i);
    }
    return fail(Code::invalid_argument,
                "there is no layout of pixels '{}'; rgba8, rgb8, grey8, rgba16 and grey16 exist", printable(name));
}

Status check_size(uint64_t width, uint64_t height) {
    if (width == 0 || height == 0) {
        return fail(Code::invalid_argument, "the picture is empty: it has {} × {} pixels", width, height);
    }
    if (width > kMaxPixels || height > kMaxPixels || width * height > kMaxPixels) {
        return fail(Code::limit, "the picture has {} × {} pixels; at most {} million are taken: make it smaller", width,
                    height, kMaxPixels / 1'000'000);
    }
    return {};
}

Result<Pixels> Pixels::create(std::span<const uint8_t> bytes, uint32_t width, uint32_t height, Layout layout,
                              uint32_t orientation) {
    TRY(check_size(width, height));
    if (orientation < 1 || orientation > 8) {
        return fail(Code::invalid_argument, "there is no orientation {}; EXIF has 1 to 8", orientation);
    }
    const LayoutShape& shape = kLayouts[size_t(layout)];
    const uint64_t wanted = uint64_t{width} * height * shape.pixel_bytes;
    if (bytes.size() != wanted) {
        return fail(Code::invalid_argument, "{} × {} pixels as {} are {} bytes, not {}", width, height, shape.name,
                    wanted, bytes.size());
    }
    Pixels out;
    out.bytes_ = bytes;
    out.stored_width_ = width;
    out.stored_height_ = height;
    // 1 upright, 2 mirrored, 3 upside down, 4 both; 5 to 8 the same of a picture that lies, as 1, 3, 2, 4 are of one that stands.
    out.lies_ = orientation >= 5;
    out.mirrors_x_ = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
    out.mirrors_y_ = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
    out.pixel_bytes_ = shape.pixel_bytes;
    out.red_ = shape.red;
    out.green_ = shape.green;
    out.blue_ = shape.blue;
    return out;
}

void Pixels::row(uint32_t y, std::span<uint8_t> out) const {
    const auto from_start = [](uint32_t i, uint32_t count, bool mirrored) { return mirrored ? count - 1 - i : i; };
    for (uint32_t x = 0; x < width(); ++x) {
        const uint32_t column = from_start(lies_ ? y : x, stored_width_, mirrors_x_);
        const uint32_t row = from_start(lies_ ? x : y, stored_height_, mirrors_y_);
        const uint8_t* pixel = bytes_.data() + (uint64_t{row} * stored_width_ + column) * pixel_bytes_;
        out[size_t{x} * 3] = pixel[red_];
        out[size_t{x} * 3 + 1] = pixel[green_];
        out[size_t{x} * 3 + 2] = pixel[blue_];
    }
}

}  // namespace lapidary::image
