#include "grammar/decimal_bound.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace lapidary::grammar {
namespace {

constexpr int64_t kMaxExponent = 400;

// Without sign.
int compare_sizes(const DecimalBound& a, const DecimalBound& b) {
    if (a.whole.size() != b.whole.size()) return a.whole.size() < b.whole.size() ? -1 : 1;
    if (const int order = a.whole.compare(b.whole); order != 0) return order;
    return a.fraction.compare(b.fraction);
}

}  // namespace

Result<DecimalBound> decimal_bound(const chat::Json& number) {
    const std::string text = number.is_number_float() ? number.dump() : chat::number_text(number);
    const auto refuse = [&] {
        return fail(Code::invalid_argument, "the number {} of the schema is not supported", printable(text));
    };
    if (!number.is_number() || (number.is_number_float() && !std::isfinite(number.get<double>()))) return refuse();
    DecimalBound out;
    std::string_view rest = text;
    if (rest.starts_with('-')) {
        out.negative = true;
        rest.remove_prefix(1);
    }
    int64_t exponent = 0;
    if (const size_t e = rest.find_first_of("eE"); e != std::string_view::npos) {
        exponent = std::strtoll(std::string(rest.substr(e + 1)).c_str(), nullptr, 10);
        rest = rest.substr(0, e);
    }
    if (exponent > kMaxExponent || exponent < -kMaxExponent) return refuse();
    const size_t point = std::min(rest.find('.'), rest.size());
    std::string digits(rest.substr(0, point));
    int64_t before = int64_t(point) + exponent;
    digits += rest.substr(std::min(point + 1, rest.size()));
    if (before < 0) digits.insert(0, size_t(-before), '0');
    before = std::max<int64_t>(before, 0);
    if (size_t(before) > digits.size()) digits.append(size_t(before) - digits.size(), '0');
    out.whole = digits.substr(0, size_t(before));
    out.fraction = digits.substr(size_t(before));
    out.whole.erase(0, std::min(out.whole.find_first_not_of('0'), out.whole.size()));
    if (out.whole.empty()) out.whole = "0";
    while (out.fraction.ends_with('0')) out.fraction.pop_back();
    if (out.is_zero()) out.negative = false;
    return out;
}

int compare(const DecimalBound& a, const DecimalBound& b) {
    if (a.negative != b.negative) return a.negative ? -1 : 1;
    const int sizes = compare_sizes(a, b);
    return a.negative ? -sizes : sizes;
}

bool is_multiple(const DecimalBound& a, const DecimalBound& b) {
    // Both as whole numbers of the same unit; long division of the texts.
    const size_t places = std::max(a.fraction.size(), b.fraction.size());
    const auto scaled = [&](const DecimalBound& value) {
        std::string out = value.whole + value.fraction + std::string(places - value.fraction.size(), '0');
        out.erase(0, std::min(out.find_first_not_of('0'), out.size() - 1));
        return out;
    };
    const std::string dividend = scaled(a);
    const DecimalBound divisor{.negative = false, .whole = scaled(b), .fraction = {}};
    DecimalBound left;
    for (const char digit : dividend) {
        left.whole = left.whole == "0" ? std::string(1, digit) : left.whole + digit;
        while (compare_sizes(left, divisor) >= 0) {
            // left -= divisor
            int borrow = 0;
            for (size_t i = 0; i < left.whole.size(); ++i) {
                char& c = left.whole[left.whole.size() - 1 - i];
                int value = c - borrow - (i < divisor.whole.size() ? divisor.whole[divisor.whole.size() - 1 - i] : '0');
                borrow = value < 0 ? 1 : 0;
                c = char('0' + value + 10 * borrow);
            }
            left.whole.erase(0, std::min(left.whole.find_first_not_of('0'), left.whole.size() - 1));
        }
    }
    return left.is_zero();
}

}  // namespace lapidary::grammar
