// Limbs (limbs.wgsl) as the CPU makes and reads them.
#pragma once

#include "kernels/check/case.h"

namespace lapidary::kernels::check {

// Numbers in a unit of 64, and the sums of its runs of 16, which come behind those of all units.
inline constexpr size_t kUnitNumbers = 64 + 4;

inline size_t units_of(size_t elements) {
    return (elements + 63) / 64;
}

// x, zeros behind it to fill the last unit, as limbs.
Array given_limbs(std::span<const double> x);

// What a kernel writes that makes limbs of x.
Array limbs_written(Random& random, std::span<const double> x);

// What `bytes` of limbs say: kUnitNumbers a unit.
std::vector<float> numbers_in_limbs(std::span<const uint8_t> bytes, size_t units);

}  // namespace lapidary::kernels::check
