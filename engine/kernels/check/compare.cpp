#include "kernels/check/compare.h"

#include <algorithm>
#include <cstring>

#include "base/half.h"
#include "kernels/check/caches.h"
#include "kernels/check/limbs.h"

namespace lapidary::kernels::check {
namespace {

size_t bytes_of(Element element) {
    return element == Element::f16 ? 2 : 4;
}

template <class T>
T load(const uint8_t* from) {
    T value;
    std::memcpy(&value, from, sizeof value);
    return value;
}

double value_of(Element element, const uint8_t* from) {
    switch (element) {
        case Element::f32: return double(load<float>(from));
        case Element::f16: return double(f16_to_f32(load<uint16_t>(from)));
        case Element::u32: return load<uint32_t>(from);
        case Element::limbs:
        case Element::cache: break;  // is made floats of first
    }
    return 0;
}

// The numbers limbs or a cache stand for, then what lies behind them.
std::vector<uint8_t> spelled_out(const Array& array, std::span<const uint8_t> bytes) {
    const size_t count = array.expected.size();
    const std::vector<float> numbers =
        array.element == Element::cache ? unpacked(array.cache, bytes) : numbers_in_limbs(bytes, count / kUnitNumbers);
    std::vector<uint8_t> out(4 * count);
    if (!numbers.empty()) std::memcpy(out.data(), numbers.data(), 4 * numbers.size());
    const auto margin = bytes.last(4 * (count - numbers.size()));
    std::ranges::copy(margin, out.begin() + ptrdiff_t(4 * numbers.size()));
    return out;
}

}  // namespace

double limit_of(const Array& array, double limit) {
    constexpr double kRounding = 3e-4;
    if (array.element == Element::cache) return std::max(limit, stored_limit(array.cache.kv));
    return array.element == Element::f16 ? std::max(limit, kRounding) : limit;
}

Difference compare(const Array& array, std::span<const uint8_t> after) {
    if (array.element == Element::limbs || array.element == Element::cache) {
        const Array plain{.before = spelled_out(array, array.before), .expected = array.expected};
        return compare(plain, spelled_out(array, after));
    }
    Difference out;
    double wrong = 0;
    double size = 0;
    const size_t bytes = bytes_of(array.element);
    const auto note = [&](std::string sentence) {
        if (out.problem.empty()) out.problem = std::move(sentence);
    };
    for (size_t i = 0; i < array.expected.size(); ++i) {
        const uint8_t* now = after.data() + i * bytes;
        const double expected = array.expected[i];
        if (std::isnan(expected)) {
            const bool same = std::equal(now, now + bytes, array.before.data() + i * bytes);
            if (!same) note(format("element {} was overwritten", i));
            continue;
        }
        const double actual = value_of(array.element, now);
        const double difference = std::abs(actual - expected);
        if (array.element == Element::u32 && actual != expected) {
            note(format("element {} is {}, not {}", i, uint64_t(actual), uint64_t(expected)));
        }
        if (!std::isfinite(actual)) {
            note(format("element {} is not a finite number", i));
            continue;
        }
        out.max_error = std::max(out.max_error, difference);
        wrong += difference * difference;
        size += expected * expected;
    }
    out.error = wrong == 0 ? 0 : std::sqrt(wrong / std::max(size, 1e-300));
    return out;
}

}  // namespace lapidary::kernels::check
