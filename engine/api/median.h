// The middle one of several measurements.
#pragma once

#include <vector>

#include "base/sort_few.h"

namespace lapidary::api {

inline double median(std::vector<double> values) {
    sort_few(values);
    return values[values.size() / 2];
}

}  // namespace lapidary::api
