// What a file is and how large its picture, from its first bytes: whoever decodes it is a library, and is asked only after that.
#pragma once

#include <optional>
#include <span>

#include "image/resize.h"

namespace lapidary::image {

enum class FileFormat : uint8_t { unknown, png, jpeg, webp, gif };
std::string_view name_of(FileFormat format);

struct Looked {
    FileFormat format = FileFormat::unknown;
    std::optional<Size> size;  // as it is stored; not there where the bytes end before it
    uint32_t orientation = 1;  // EXIF's
};

// An error where the file says it is of a format and then is not.
Result<Looked> look(std::span<const uint8_t> file);

// Of a block of TIFF, as EXIF keeps it; 1 where it says nothing, or nothing that makes sense.
uint32_t exif_orientation(std::span<const uint8_t> tiff);

}  // namespace lapidary::image
