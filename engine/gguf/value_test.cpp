#include "gguf/value.h"

#include <gtest/gtest.h>

#include <vector>

namespace lapidary::gguf {
namespace {

// A scalar with its bytes.
template <class T>
struct Scalar {
    Scalar(ValueType scalar_type, T value) : type(scalar_type), bytes(sizeof(T)) {
        __builtin_memcpy(bytes.data(), &value, sizeof(T));
    }
    [[nodiscard]] Value value() const { return {type, bytes}; }
    ValueType type;
    std::vector<uint8_t> bytes;
};

Value bytes_of(ValueType type, const std::vector<uint8_t>& bytes) {
    return {type, bytes};
}

TEST(GgufValue, ReadsAnIntegerOfAnyWidth) {
    EXPECT_EQ(Scalar(ValueType::uint16, uint16_t(7)).value().as_integer(), 7);
    EXPECT_EQ(Scalar(ValueType::int64, int64_t(-7)).value().as_integer(), -7);
    EXPECT_EQ(Scalar(ValueType::uint64, uint64_t(INT64_MAX)).value().as_integer(), INT64_MAX);
}

TEST(GgufValue, HasNoIntegerWhereSomethingWouldBeLost) {
    EXPECT_EQ(Scalar(ValueType::uint64, uint64_t(1) << 63).value().as_integer(), std::nullopt);
    EXPECT_EQ(Scalar(ValueType::float32, 7.0f).value().as_integer(), std::nullopt);
    EXPECT_EQ(Scalar(ValueType::boolean, uint8_t(1)).value().as_integer(), std::nullopt);
}

TEST(GgufValue, ReadsANumberFromIntegersAndFloats) {
    EXPECT_EQ(Scalar(ValueType::float64, 0.1).value().as_number(), 0.1);
    EXPECT_EQ(Scalar(ValueType::int8, int8_t(-3)).value().as_number(), -3.0);
    EXPECT_EQ(Scalar(ValueType::uint64, uint64_t(1) << 63).value().as_number(), 0x1p63);
    EXPECT_EQ(Scalar(ValueType::boolean, uint8_t(1)).value().as_number(), std::nullopt);
}

TEST(GgufValue, ReadsABoolFromZeroAndOneOnly) {
    EXPECT_EQ(Scalar(ValueType::uint32, uint32_t(1)).value().as_bool(), true);
    EXPECT_EQ(Scalar(ValueType::int8, int8_t(0)).value().as_bool(), false);
    EXPECT_EQ(Scalar(ValueType::uint32, uint32_t(2)).value().as_bool(), std::nullopt);
    EXPECT_EQ(Scalar(ValueType::float32, 1.0f).value().as_bool(), std::nullopt);
}

TEST(GgufValue, HasNoElementBeyondTheEndOfAnArray) {
    const std::vector<uint8_t> elements = {1, 2, 3};
    const Array array(ValueType::uint8, 3, elements);
    EXPECT_EQ(array.at(2).as_integer(), 3);
    EXPECT_EQ(array.at(3).as_integer(), std::nullopt);
    EXPECT_EQ(array.at(~uint64_t(0)).as_integer(), std::nullopt);
}

TEST(GgufValue, DoesNotIndexStrings) {
    const std::vector<uint8_t> one = {1, 0, 0, 0, 0, 0, 0, 0, 'x'};
    const Value element = Array(ValueType::string, 1, one).at(0);
    EXPECT_EQ(element.as_string(), std::nullopt);
    EXPECT_EQ(element.as_array(), std::nullopt);
}

TEST(GgufValue, KnowsWhetherItsBytesAreOneWholeValue) {
    EXPECT_TRUE(bytes_of(ValueType::uint32, {1, 2, 3, 4}).well_formed());
    EXPECT_FALSE(bytes_of(ValueType::uint32, {1, 2, 3}).well_formed());
    EXPECT_FALSE(bytes_of(ValueType::uint32, {}).well_formed());
    EXPECT_FALSE(bytes_of(ValueType(13), {1}).well_formed());
    const std::vector<uint8_t> text = {2, 0, 0, 0, 0, 0, 0, 0, 'a', 'b'};
    EXPECT_TRUE(bytes_of(ValueType::string, text).well_formed());
    EXPECT_FALSE(Value(ValueType::string, std::span(text).first(9)).well_formed());
    EXPECT_FALSE(Value(ValueType::string, std::span(text).first(7)).well_formed());
}

TEST(GgufValue, KnowsWhetherItsBytesAreOneWholeArray) {
    // Two texts, "a" and "".
    const std::vector<uint8_t> texts = {8, 0, 0, 0, 2, 0,   0, 0, 0, 0, 0, 0, 1, 0, 0,
                                        0, 0, 0, 0, 0, 'a', 0, 0, 0, 0, 0, 0, 0, 0};
    EXPECT_TRUE(bytes_of(ValueType::array, texts).well_formed());
    for (size_t size = 0; size < texts.size(); ++size) {
        EXPECT_FALSE(Value(ValueType::array, std::span(texts).first(size)).well_formed()) << size;
    }
    std::vector<uint8_t> longer = texts;
    longer.push_back(0);
    EXPECT_FALSE(bytes_of(ValueType::array, longer).well_formed());
    std::vector<uint8_t> numbers = {3, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 2};
    EXPECT_TRUE(bytes_of(ValueType::array, numbers).well_formed());
    numbers[0] = 9;
    EXPECT_FALSE(bytes_of(ValueType::array, numbers).well_formed()) << "an array of arrays";
    numbers[0] = 3;
    numbers[11] = 0x80;  // 2⁶³ + 1 elements of two bytes would wrap around to 2
    EXPECT_FALSE(bytes_of(ValueType::array, numbers).well_formed());
}

TEST(GgufValue, NamesItsType) {
    for (int32_t type = 0; type <= 12; ++type) EXPECT_NE(value_type_name(ValueType(type)), "unknown");
    EXPECT_EQ(value_type_name(ValueType(13)), "unknown");
    EXPECT_EQ(fixed_size(ValueType(13)), 0u);
}

}  // namespace
}  // namespace lapidary::gguf
