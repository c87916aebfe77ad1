// The models of tests/data/fixtures, as parameters of test suites.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace lapidary::testing {

// The first two have the same layers and differ in their weights' formats, which the formats' own tests decode.
// Sanitizers are slow: they get one of the two, WebAssembly gets all.
inline std::vector<const char*> fixture_names() {
#if __has_feature(address_sanitizer)
    return {"tiny-e2b-q4km", "tiny-31b-q4km", "tiny-moe-q4km"};
#else
    return {"tiny-e2b-q4_0", "tiny-e2b-q4km", "tiny-31b-q4km", "tiny-moe-q4km"};
#endif
}

// As GoogleTest wants the name of a parameter.
inline std::string parameter_name(const ::testing::TestParamInfo<const char*>& info) {
    std::string name = info.param;
    std::ranges::replace(name, '-', '_');
    return name;
}

}  // namespace lapidary::testing
