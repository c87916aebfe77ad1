// Planes (planes.wgsl) as the CPU makes and reads them.
#pragma once

#include "kernels/check/case.h"

namespace lapidary::kernels::check {

// What a unit says: 64 numbers, and the sums of its four runs of 16. (In memory all sums come behind all numbers.)
inline constexpr size_t kUnitNumbers = 64 + 4;

inline size_t units_of(size_t elements) {
    return (elements + 63) / 64;
}

// x, zeros behind it to fill the last unit, as planes.
Array given_planes(std::span<const double> x);

// What a kernel that turns x into planes should write.
Array planes_written(Random& random, std::span<const double> x);

// What `bytes` of planes say: kUnitNumbers a unit.
std::vector<float> numbers_in_planes(std::span<const uint8_t> bytes, size_t units);

}  // namespace lapidary::kernels::check
