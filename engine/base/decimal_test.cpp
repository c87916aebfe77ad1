#include "base/decimal.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstdio>
#include <limits>
#include <random>
#include <vector>

namespace lapidary {
namespace {

std::string printed(const char* pattern, double value) {
    std::array<char, 64> text{};
    std::snprintf(text.data(), text.size(), pattern, value);
    return text.data();
}

std::string printed_with(int digits, double value) {
    std::array<char, 64> text{};
    std::snprintf(text.data(), text.size(), "%.*e", digits - 1, value);
    return text.data();
}

// Where %e has no zeros at its end, neither has ours.
std::string without_zeros(const std::string& text) {
    const size_t e = text.find('e');
    std::string number = text.substr(0, e);
    if (number.contains('.')) number.resize(number.find_last_not_of('0') + 1);
    if (number.ends_with('.')) number.pop_back();
    return number + text.substr(e);
}

TEST(Decimal, HasTheDigitsThatTheCLibraryPrints) {
    std::mt19937_64 random(1);
    std::vector<double> values = {1,
                                  2,
                                  10,
                                  0.1,
                                  0.5,
                                  0.25,
                                  1.0 / 3,
                                  1e22,
                                  1e23,
                                  9.995,
                                  999999,
                                  1e16,
                                  5e-5,
                                  1e15,
                                  2.5,
                                  123456.789,
                                  5e-324,
                                  9.5e-300,
                                  1.7976931348623157e308,
                                  2.2250738585072014e-308};
    while (values.size() < 2000) {
        const auto any = std::bit_cast<double>(random());
        if (std::isfinite(any) && any != 0) values.push_back(std::abs(any));
        values.push_back(std::ldexp(double(random() % 10000 + 1), int(random() % 60) - 40));
    }
    for (const double value : values) {
        const Decimal all = decimal_of(value);
        for (const int digits : {1, 2, 6, 15, 16, 17, 30}) {
            EXPECT_EQ(scientific_text(all.rounded(size_t(digits))), without_zeros(printed_with(digits, value)));
        }
        EXPECT_EQ(real_text(value), printed("%g", value));
        EXPECT_EQ(real_text(-value), printed("%g", -value));
    }
}

TEST(Decimal, KnowsWhatIsNoNumberLikeOthers) {
    using Limits = std::numeric_limits<double>;
    for (const double value : {0.0, -0.0, Limits::infinity(), -Limits::infinity(), Limits::quiet_NaN()}) {
        EXPECT_EQ(real_text(value), printed("%g", value));
    }
}

}  // namespace
}  // namespace lapidary
