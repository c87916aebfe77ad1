// Arithmetic on numbers that came from a file: overflow is an answer (nullopt), never a wrap-around.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>

namespace lapidary {

template <std::integral T>
constexpr std::optional<T> checked_add(T a, T b) {
    T sum;
    if (__builtin_add_overflow(a, b, &sum)) return std::nullopt;
    return sum;
}

template <std::integral T>
constexpr std::optional<T> checked_mul(T a, T b) {
    T product;
    if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
    return product;
}

// How many pieces of b make up a; for counts that are known to be small.
constexpr uint32_t ceil_div(uint64_t a, uint64_t b) {
    return uint32_t((a + b - 1) / b);
}

// The smallest multiple of `alignment` (a power of two) that is ≥ value.
template <std::unsigned_integral T>
constexpr std::optional<T> checked_align_up(T value, T alignment) {
    const auto sum = checked_add<T>(value, T(alignment - 1));
    if (!sum) return std::nullopt;
    return T(*sum & ~T(alignment - 1));
}

}  // namespace lapidary
