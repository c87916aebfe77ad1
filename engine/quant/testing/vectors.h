// The blocks and floats of tests/data/vocab/quant-vectors.json, and what several tests of this room share.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/tensor_type.h"

namespace lapidary::quant::testing {

struct Vector {
    std::string name;  // "Q4_K"
    std::vector<uint8_t> block;
    std::vector<float> values;
};

// `kind` is "decode" (block → values) or "encode" (values → block). Empty if the file cannot be read.
std::vector<Vector> read_vectors(std::string_view kind);

// The decodable type of that name, or null.
const TensorTypeInfo* find_by_name(std::string_view name);

// Every type that decode() knows.
std::vector<TensorType> all_types();

// The same numbers on every machine, unlike the distributions of <random>.
class Random {
  public:
    explicit Random(uint64_t seed) : state_(seed) {}
    uint32_t next() {
        state_ = state_ * 6364136223846793005u + 1442695040888963407u;
        return uint32_t(state_ >> 33) ^ uint32_t(state_ >> 20);
    }
    uint8_t byte() { return uint8_t(next() >> 7); }
    float uniform() { return float(next() >> 8 & 0xFFFFFF) * 0x1p-23f - 1; }  // −1 … 1
    float bell() {
        // One call a statement: the order within an expression is the compiler's choice.
        float sum = uniform();
        sum += uniform();
        sum += uniform();
        return sum;
    }
    std::vector<float> weights(size_t count, float scale);

  private:
    uint64_t state_;
};

// Equal to the bit: −0 is not 0, and one NaN is not another.
bool same_bits(float a, float b);

}  // namespace lapidary::quant::testing
