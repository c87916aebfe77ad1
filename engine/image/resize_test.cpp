#include "image/resize.h"

#include <gtest/gtest.h>

#include <cmath>

#include "testing/png.h"
#include "testing/safetensors.h"

namespace lapidary::image {
namespace {

using testing::read_png;

const testing::ExpectedTensors& expected() {
    static const auto read = testing::read_safetensors("tests/data/media/preprocess.safetensors");
    return *read;
}

Picture shown(const std::string& name, uint32_t budget) {
    const auto png = read_png("tests/data/media/img/" + name);
    EXPECT_TRUE(png) << name;
    const auto pixels = Pixels::create(png->pixels, png->width, png->height, png->layout, 1);
    EXPECT_TRUE(pixels) << name;
    return resize(*pixels, *target_size(pixels->width(), pixels->height(), budget, 48));
}

TEST(TargetSize, IsTheReferencesOfEveryShapeAndBudget) {
    const auto& sizes = expected().at("sizes").integers;
    ASSERT_EQ(sizes.size(), 424u * 5);
    for (size_t i = 0; i < sizes.size(); i += 5) {
        const auto size = target_size(uint32_t(sizes[i + 1]), uint32_t(sizes[i]), uint32_t(sizes[i + 2]), 48);
        ASSERT_TRUE(size);
        EXPECT_EQ(size->height, uint32_t(sizes[i + 3])) << sizes[i] << " x " << sizes[i + 1] << " @" << sizes[i + 2];
        EXPECT_EQ(size->width, uint32_t(sizes[i + 4])) << sizes[i] << " x " << sizes[i + 1] << " @" << sizes[i + 2];
    }
}

TEST(TargetSize, RefusesWhatIsTooLargeOrEmpty) {
    const auto large = target_size(60000, 60000, 280, 48);
    ASSERT_FALSE(large);
    EXPECT_EQ(large.error().message,
              "the picture has 60000 × 60000 pixels; at most 100 million are taken: make it smaller");
    EXPECT_FALSE(target_size(0, 10, 280, 48));
    EXPECT_FALSE(target_size(10, 10, 0, 48));
}

class Shown : public ::testing::TestWithParam<std::string> {};

TEST_P(Shown, IsWithinTheReferencesRounding) {
    for (const uint32_t budget : {70u, 280u, 1120u}) {
        const std::string name = GetParam() + "@" + std::to_string(budget);
        if (!expected().contains(name + ".sample")) continue;
        const Picture picture = shown(GetParam(), budget);
        const auto& size = expected().at(name + ".size").integers;
        ASSERT_EQ(picture.size, (Size{uint32_t(size[1]), uint32_t(size[0])})) << name;
        const auto& sample = expected().at(name + ".sample").integers;
        const auto stride = size_t(expected().at(name + ".stride").integers[0]);
        double sum = 0;
        for (size_t i = 0; i < sample.size(); ++i) {
            const int off = std::abs(int(picture.rgb.at(i * stride)) - sample[i]);
            ASSERT_LE(off, 2) << name << " at " << i * stride;
            sum += off;
        }
        EXPECT_LE(sum / double(sample.size()), 0.04) << name;
        for (size_t c = 0; c < 3; ++c) {
            double mean = 0;
            for (size_t i = c; i < picture.rgb.size(); i += 3) mean += picture.rgb[i];
            mean /= double(picture.rgb.size()) / 3;
            // Of millions of levels that were added up in float32: it tells channels apart, and no more.
            EXPECT_NEAR(mean, double(expected().at(name + ".mean").floats[c]), 3) << name;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Images, Shown,
                         ::testing::Values("square.png", "wide.png", "odd.png", "alpha.png", "thin.png", "grey.png",
                                           "palette.png", "grey16.png", "drawing.png"),
                         [](const auto& name) { return name.param.substr(0, name.param.find('.')); });

TEST(Resize, AgreesInEveryPixelOfAnOddPicture) {
    const Picture picture = shown("odd.png", 70);
    const auto& full = expected().at("odd.png@70.full").integers;
    ASSERT_EQ(full.size() * 4, picture.rgb.size());
    double sum = 0;
    for (size_t i = 0; i < picture.rgb.size(); ++i) {
        const int off = std::abs(int(picture.rgb[i]) - (full[i / 4] >> 8 * (i % 4) & 255));
        ASSERT_LE(off, 2) << i;
        sum += off;
    }
    EXPECT_LE(sum / double(picture.rgb.size()), 0.04);
}

TEST(Pixels, AreTurnedAsExifSays) {
    // 1 2 3
    // 4 5 6
    const std::vector<uint8_t> stored = {1, 2, 3, 4, 5, 6};
    const auto turned = [&](uint32_t orientation) {
        const auto pixels = *Pixels::create(stored, 3, 2, Layout::grey8, orientation);
        std::string out;
        std::vector<uint8_t> row(size_t{pixels.width()} * 3);
        for (uint32_t y = 0; y < pixels.height(); ++y) {
            pixels.row(y, row);
            for (size_t x = 0; x < pixels.width(); ++x) out += char('0' + row[x * 3]);
            out += ' ';
        }
        return out;
    };
    EXPECT_EQ(turned(1), "123 456 ");
    EXPECT_EQ(turned(2), "321 654 ");
    EXPECT_EQ(turned(3), "654 321 ");
    EXPECT_EQ(turned(4), "456 123 ");
    EXPECT_EQ(turned(5), "14 25 36 ");
    EXPECT_EQ(turned(6), "41 52 63 ");
    EXPECT_EQ(turned(7), "63 52 41 ");
    EXPECT_EQ(turned(8), "36 25 14 ");
}

TEST(Pixels, OfOtherBytesThanTheirSizeAreRefused) {
    const std::vector<uint8_t> bytes(24);
    const auto refused = Pixels::create(bytes, 3, 3, Layout::rgba8, 1);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().message, "3 × 3 pixels as rgba8 are 36 bytes, not 24");
    EXPECT_FALSE(Pixels::create(bytes, 3, 2, Layout::rgba8, 9));
    EXPECT_FALSE(layout_from("bgr8"));
    EXPECT_EQ(*layout_from("rgba16"), Layout::rgba16);
}

}  // namespace
}  // namespace lapidary::image
