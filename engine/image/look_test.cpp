#include "image/look.h"

#include <gtest/gtest.h>

#include "testing/files.h"
#include "testing/safetensors.h"

namespace lapidary::image {
namespace {

Bytes fixture(const std::string& name) {
    const auto file = testing::read_file("tests/data/media/img/" + name);
    EXPECT_TRUE(file) << name;
    return *file;
}

TEST(Look, TellsFormatSizeAndOrientationOfFiles) {
    const auto expected = testing::read_safetensors("tests/data/media/preprocess.safetensors");
    ASSERT_TRUE(expected);
    for (const std::string name : {"square.png", "odd.png", "photo.jpg", "turned.jpg", "lossy.webp", "lossless.webp",
                                   "grey16.png", "palette.png"}) {
        const auto looked = look(fixture(name));
        ASSERT_TRUE(looked) << name;
        ASSERT_TRUE(looked->size) << name;
        const bool lies = name == "turned.jpg";
        EXPECT_EQ(looked->orientation, lies ? 6u : 1u) << name;
        const auto& size = expected->at(name + ".decoded.size").integers;  // height, width, upright
        EXPECT_EQ(looked->size->width, uint32_t(size[lies ? 0 : 1])) << name;
        EXPECT_EQ(looked->size->height, uint32_t(size[lies ? 1 : 0])) << name;
        const std::string kind(name_of(looked->format));
        EXPECT_TRUE(name.ends_with(kind == "jpeg" ? "jpg" : kind)) << name;
    }
}

TEST(Look, BelievesNoLies) {
    Bytes png = fixture("square.png");
    png[16] = 0;
    png[17] = 0;
    png[18] = png[22] = 0xEA;
    png[19] = png[23] = 0x60;
    const auto large = look(png);
    ASSERT_FALSE(large);
    EXPECT_EQ(large.error().message,
              "the picture has 60000 × 60000 pixels; at most 100 million are taken: make it smaller");
    Bytes jpeg = fixture("photo.jpg");
    jpeg[2] = 0;
    EXPECT_EQ(look(jpeg)->format, FileFormat::unknown);
    jpeg = fixture("photo.jpg");
    jpeg[4] = jpeg[5] = 0;
    EXPECT_EQ(look(jpeg).error().message, "the file begins like a JPEG and then is none: it is damaged");
}

TEST(Look, OfEveryBeginningIsCalm) {
    for (const char* name : {"turned.jpg", "lossy.webp", "thin.png"}) {
        const Bytes file = fixture(name);
        for (size_t size = 0; size < std::min<size_t>(file.size(), 700); ++size) {
            const auto looked = look(std::span(file).first(size));
            EXPECT_TRUE(looked) << name << " of " << size;
        }
    }
    const std::string svg = "<svg onload=\"alert(1)\">";
    EXPECT_EQ(look({reinterpret_cast<const uint8_t*>(svg.data()), svg.size()})->format, FileFormat::unknown);
}

}  // namespace
}  // namespace lapidary::image
