#include "kernels/check/compare.h"

#include <gtest/gtest.h>

#include <cstring>

#include "base/half.h"

namespace lapidary::kernels::check {
namespace {

// An array of which elements 0 … n − 1 should become 1, 2, 3 …
Array counting(Random& random, size_t n, Element element) {
    Array array = written(random, n, element);
    for (size_t i = 0; i < n; ++i) array.expected[i] = double(i + 1);
    return array;
}

std::vector<uint8_t> as_expected(const Array& array) {
    std::vector<uint8_t> out = array.before;
    for (size_t i = 0; i < array.expected.size(); ++i) {
        if (std::isnan(array.expected[i])) continue;
        const auto value = float(array.expected[i]);
        if (array.element == Element::f32) std::memcpy(&out[i * 4], &value, 4);
        const auto word = uint32_t(array.expected[i]);
        if (array.element == Element::u32) std::memcpy(&out[i * 4], &word, 4);
        const uint16_t half = f32_to_f16(value);
        if (array.element == Element::f16) std::memcpy(&out[i * 2], &half, 2);
    }
    return out;
}

TEST(Compare, FindsNothingWhereAllIsRight) {
    for (const Element element : {Element::f32, Element::f16, Element::u32}) {
        Random random(1);
        const Array array = counting(random, 100, element);
        const Difference found = compare(array, as_expected(array));
        EXPECT_EQ(found.error, 0);
        EXPECT_EQ(found.problem, "");
    }
}

TEST(Compare, FindsOneWrongNumberAmongThousands) {
    Random random(2);
    const Array array = counting(random, 4000, Element::f32);
    auto after = as_expected(array);
    const float wrong = 3000.5f + 300;
    std::memcpy(&after[3000 * 4], &wrong, 4);
    const Difference found = compare(array, after);
    EXPECT_GT(found.error, 1e-4);
    EXPECT_EQ(found.max_error, 299.5);
}

TEST(Compare, AllowsNoOtherIntegerAndNoNumberThatIsNone) {
    Random random(3);
    const Array words = counting(random, 8, Element::u32);
    auto after = as_expected(words);
    after[4] = 7;
    EXPECT_EQ(compare(words, after).problem, "element 1 is 7, not 2");
    const Array floats = counting(random, 8, Element::f32);
    after = as_expected(floats);
    std::memset(&after[8], 0xFF, 4);
    EXPECT_EQ(compare(floats, after).problem, "element 2 is not a finite number");
}

TEST(Compare, SeesWhatWasTouchedBehindTheEnd) {
    Random random(4);
    const Array array = counting(random, 6, Element::f16);
    auto after = as_expected(array);
    after[size_t{7} * 2] ^= 1;
    EXPECT_EQ(compare(array, after).problem, "element 7 was overwritten");
}

}  // namespace
}  // namespace lapidary::kernels::check
