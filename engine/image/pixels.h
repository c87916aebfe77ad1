// Pixels as a decoder left them: rows from the top, of one of a few layouts, perhaps lying on their side.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/error.h"

namespace lapidary::image {

// What is taken from people: the largest camera's pictures. It bounds what has to be held.
inline constexpr uint64_t kMaxPixels = 100'000'000;

enum class Layout : uint8_t { rgba8, rgb8, grey8, rgba16, grey16 };
Result<Layout> layout_from(std::string_view name);

// Refuses what has no pixels, or more than anybody should hold.
Status check_size(uint64_t width, uint64_t height);

// A view of a decoder's result, upright: alpha is dropped, and of 16 bits the high byte counts.
class Pixels {
  public:
    // orientation: EXIF's, 1 to 8. The bytes must live as long as the view.
    static Result<Pixels> create(std::span<const uint8_t> bytes, uint32_t width, uint32_t height, Layout layout,
                                 uint32_t orientation);

    [[nodiscard]] uint32_t width() const { return lies_ ? stored_height_ : stored_width_; }
    [[nodiscard]] uint32_t height() const { return lies_ ? stored_width_ : stored_height_; }
    // Row y as [width][red, green, blue].
    void row(uint32_t y, std::span<uint8_t> out) const;

  private:
    std::span<const uint8_t> bytes_;
    uint32_t stored_width_ = 0;
    uint32_t stored_height_ = 0;
    bool lies_ = false;       // rows of the picture are columns of what is stored
    bool mirrors_x_ = false;  // of what is stored: its last column comes first
    bool mirrors_y_ = false;
    uint32_t pixel_bytes_ = 4;  // from one pixel to the next
    uint32_t red_ = 0;          // in a pixel: where the bytes of its colours are
    uint32_t green_ = 1;
    uint32_t blue_ = 2;
};

}  // namespace lapidary::image
