// The step every reader of adapters shares: matrices found in a file, not decoded yet, become updates of a model. All
// that makes an adapter right for a model is checked here.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/tensor_type.h"
#include "lora/adapter.h"
#include "lora/safetensors.h"

namespace lapidary::lora {

// Of all updates together: 2 GiB of f32.
inline constexpr uint64_t kMaxParameters = uint64_t{1} << 29;

// A matrix as it lies in a file. The bytes are those the type and the shape take.
struct RawMatrix {
    std::string name;  // of the tensor, for errors
    TensorType type = TensorType::f32;
    uint64_t rows = 0;
    uint64_t cols = 0;
    std::span<const uint8_t> bytes;
    bool transposed = false;  // stored the other way round: rows and cols are those of the bytes
};

// Of a safetensors file: two dimensions, floats.
Result<RawMatrix> matrix_of(const SafeTensor& tensor);

class Collector {
  public:
    // What the update is multiplied with: alpha / rank, or what else the file says about this matrix.
    using ScaleOf = std::function<Result<float>(uint32_t layer, Target target, uint32_t rank, const std::string& name)>;

    enum class Side : uint8_t { a, b };
    // An error when that one is there already.
    Status add(uint32_t layer, Target target, Side side, RawMatrix matrix);

    // By layer, then by target. K and V of layers that attend to a donor's are left out and named in `ignored`: such a
    // matrix computes nothing, and some trainers adapt it nevertheless.
    Result<std::vector<Update>> finish(const model::WeightTable& table, const ScaleOf& scale_of,
                                       std::vector<std::string>& ignored);

  private:
    struct Pair {
        std::optional<RawMatrix> a, b;
    };
    std::map<std::pair<uint32_t, Target>, Pair> pairs_;
};

}  // namespace lapidary::lora
