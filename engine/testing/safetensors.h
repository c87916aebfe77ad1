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
    size_t stride = 1;              // only every so-many-th row of what was computed is there
};

using ExpectedTensors = std::map<std::string, ExpectedTensor>;

// A file of the repository; nothing when it is not there or not understood.
std::optional<ExpectedTensors> read_safetensors(std::string_view path);

// The rows of `all` that the tensor has.
std::vector<float> rows_of(const ExpectedTensor& tensor, std::span<const float> all);

// |a - b| / |b|
double relative_l2(std::span<const float> actual, std::span<const float> expected);

}  // namespace lapidary::testing
