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

// Those, and the models of Gemma 3, which have the same files beside them.
inline std::vector<const char*> all_fixture_names() {
    std::vector<const char*> out = fixture_names();
    out.push_back("tiny-gemma3-q4km");
#if !__has_feature(address_sanitizer)
    out.push_back("tiny-gemma3-27b-q4km");
#endif
    return out;
}

// As GoogleTest wants the name of a parameter.
inline std::string parameter_name(const ::testing::TestParamInfo<const char*>& info) {
    std::string name = info.param;
    std::ranges::replace(name, '-', '_');
    return name;
}

}  // namespace lapidary::testing
