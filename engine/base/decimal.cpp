#include "base/decimal.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace lapidary {

Decimal decimal_of(double value) {
    int exponent = 0;
    auto mantissa = uint64_t(std::ldexp(std::frexp(value, &exponent), 53));
    exponent -= 53;
    for (; mantissa % 2 == 0; mantissa /= 2) ++exponent;
    // value = mantissa · 2ⁿ; for a negative n, mantissa · 5⁻ⁿ / 10⁻ⁿ. So its digits are those of a whole number, which is
    // kept in pieces of nine digits, the lowest first.
    constexpr uint64_t kBase = 1'000'000'000;
    std::vector<uint32_t> number;
    for (; mantissa > 0; mantissa /= kBase) number.push_back(uint32_t(mantissa % kBase));
    for (int i = 0; i < std::abs(exponent); ++i) {
        uint64_t carry = 0;
        for (uint32_t& nine : number) {
            carry += nine * uint64_t{exponent > 0 ? 2u : 5u};
            nine = uint32_t(carry % kBase);
            carry /= kBase;
        }
        if (carry > 0) number.push_back(uint32_t(carry));
    }
    std::string reversed;
    for (const uint32_t nine : number) {
        uint32_t rest = nine;
        for (int i = 0; i < 9; ++i, rest /= 10) reversed += char('0' + rest % 10);
    }
    Decimal out{.digits = {reversed.rbegin(), reversed.rend()}};
    out.digits.erase(0, out.digits.find_first_not_of('0'));
    out.exponent = int(out.digits.size()) + std::min(exponent, 0);
    return out;
}

Decimal Decimal::rounded(size_t most) const {
    Decimal out{.digits = digits.substr(0, most), .exponent = exponent};
    if (digits.size() > most) {
        const bool odd = most > 0 && (digits[most - 1] - '0') % 2 == 1;
        const bool half = digits[most] == '5' && digits.find_first_not_of('0', most + 1) == std::string::npos;
        if (half ? odd : digits[most] >= '5') {
            // Rounding up turns nines at the end into zeros, which are left out, and adds one to the digit before them.
            const size_t last = out.digits.find_last_not_of('9');
            out.digits.resize(last == std::string::npos ? 0 : last + 1);
            if (out.digits.empty()) {
                out.digits = "1";
                ++out.exponent;
            } else {
                ++out.digits.back();
            }
        }
    }
    out.digits.resize(out.digits.find_last_not_of('0') + 1);
    return out;
}

std::string plain_text(const Decimal& decimal) {
    const auto& [digits, exponent] = decimal;
    if (exponent <= 0) return "0." + std::string(size_t(-exponent), '0') + digits;
    const auto whole = size_t(exponent);
    if (digits.size() <= whole) return digits + std::string(whole - digits.size(), '0');
    return digits.substr(0, whole) + "." + digits.substr(whole);
}

std::string scientific_text(const Decimal& decimal) {
    const int power = decimal.exponent - 1;
    const std::string size = std::to_string(std::abs(power));
    return plain_text({decimal.digits, 1}) + (power < 0 ? "e-" : "e+") + (size.size() < 2 ? "0" : "") + size;
}

std::string real_text(double value) {
    if (std::isnan(value)) return "nan";
    const std::string sign = std::signbit(value) ? "-" : "";
    if (value == 0) return sign + "0";
    if (std::isinf(value)) return sign + "inf";
    const Decimal decimal = decimal_of(std::abs(value)).rounded(6);
    return sign + (decimal.exponent < -3 || decimal.exponent > 6 ? scientific_text(decimal) : plain_text(decimal));
}

}  // namespace lapidary
