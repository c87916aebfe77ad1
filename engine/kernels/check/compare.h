// What a kernel left behind, against what it should have.
#pragma once

#include "kernels/check/case.h"

namespace lapidary::kernels::check {

struct Difference {
    double error = 0;      // relative L2
    double max_error = 0;  // the largest difference
    std::string problem;   // what no tolerance covers: touched where it must not be, not a number, a wrong integer
};

// `after` has as many bytes as array.before.
Difference compare(const Array& array, std::span<const uint8_t> after);

// Halves are right when they are the nearest ones: the error of rounding alone is some 2e-4. Caches have limits of their
// own (caches.h).
double limit_of(const Array& array, double limit);

}  // namespace lapidary::kernels::check
