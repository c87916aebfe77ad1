// Reads the expected values of the fixtures.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/byte_source.h"

namespace lapidary::testing {

struct ExpectedTensor {
    std::vector<uint64_t> shape;
    std::vector<float> floats;      // F32
    std::vector<int32_t> integers;  // I32
};

using ExpectedTensors = std::map<std::string, ExpectedTensor>;

// A file of the repository; nothing when it is not there or not understood.
std::optional<ExpectedTensors> read_safetensors(std::string_view path);

// |a - b| / |b|
double relative_l2(std::span<const float> actual, std::span<const float> expected);

}  // namespace lapidary::testing
