// Arbitrary bytes as a picture's file and as EXIF:
//   build/fuzz/engine/look_fuzz -max_len=4096 -malloc_limit_mb=64 NEW_FINDINGS tests/data/fuzz/image
#include "image/look.h"
#include "testing/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace lapidary;
    const std::span<const uint8_t> bytes(data, size);
    const uint32_t orientation = image::exif_orientation(bytes);
    testing::check(orientation >= 1 && orientation <= 8);
    if (const auto looked = image::look(bytes)) {
        testing::check(looked->orientation >= 1 && looked->orientation <= 8);
        if (looked->size) testing::check(image::check_size(looked->size->width, looked->size->height).has_value());
    }
    return 0;
}
