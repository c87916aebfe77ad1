#include "kernels/check/case.h"

#include <array>
#include <cstring>

namespace lapidary::kernels::check {
namespace {

constexpr size_t kMargin = 16;   // elements
constexpr float kPoison = 1e6f;  // behind the end of what is read

template <class T>
std::vector<uint8_t> bytes_of(std::span<const T> values, size_t room) {
    std::vector<uint8_t> out((values.size() + room) * sizeof(T));
    if (!values.empty()) std::memcpy(out.data(), values.data(), values.size_bytes());
    return out;
}

}  // namespace

Array given(std::span<const float> values) {
    std::vector<float> all(values.begin(), values.end());
    all.insert(all.end(), kMargin, kPoison);
    return {.before = bytes_of<float>(all, 0)};
}

Array given(std::span<const uint32_t> values) {
    return {.before = bytes_of(values, kMargin), .element = Element::u32};
}

Array given(std::vector<uint8_t> bytes) {
    return {.before = std::move(bytes)};
}

Array given(std::span<const VisibleRow> rows) {
    static_assert(sizeof(VisibleRow) == 4 * sizeof(uint32_t));
    return {.before = bytes_of(rows, kMargin), .element = Element::u32};
}

Array in_place(std::span<const float> values) {
    Array out = given(values);
    out.expected.assign(values.size() + kMargin, kUntouched);
    return out;
}

Array written(Random& random, size_t elements, Element element) {
    const size_t count = (elements + 1) / 2 * 2 + kMargin;
    Array out{.before = std::vector<uint8_t>(count * (element == Element::f16 ? 2 : 4)), .element = element};
    for (uint8_t& byte : out.before) byte = uint8_t(random.bits());
    out.expected.assign(count, kUntouched);
    return out;
}

Array step(uint32_t position, uint32_t tokens) {
    const std::array<uint32_t, 4> words = {position, tokens, 0, 0};
    return {.before = bytes_of<uint32_t>(words, 0), .element = Element::u32, .is_step = true};
}

}  // namespace lapidary::kernels::check
