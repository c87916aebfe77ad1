// The middle one of several measurements.
#pragma once

#include <algorithm>
#include <vector>

namespace lapidary::api {

inline double median(std::vector<double> values) {
    std::ranges::sort(values);
    return values[values.size() / 2];
}

}  // namespace lapidary::api
