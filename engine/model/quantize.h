// Turns a model with float weights into a smaller one: reads tensor by tensor, encodes, writes. Never holds more
// than a few megabytes.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/byte_source.h"
#include "gguf/file.h"
#include "quant/mix.h"

namespace lapidary::model {

struct QuantizedTensor {
    std::string name;
    TensorType from;
    TensorType to;
};

struct QuantizeReport {
    uint64_t bytes = 0;  // of the file written
    std::vector<QuantizedTensor> tensors;
};

// To a quantised mix only from F32, F16 or BF16: encoding what is already quantised would lose twice. The other way,
// to a float mix, works from anything.
Task<Result<QuantizeReport>> quantize(const gguf::File& file, quant::Mix mix, ByteSink& sink,
                                      std::function<void(uint64_t done, uint64_t total)> progress, Cancel cancel,
                                      std::function<Task<Status>()> breathe);

// Changes weights on their way from one file to another.
struct WeightEdit {
    // Whether a tensor is changed at all; the others are copied as they lie in the file if they keep their type.
    std::function<bool(std::string_view name)> touches;
    // Values of the tensor from its element `first` on, some at a time.
    std::function<void(std::string_view name, uint64_t first, std::span<float> values)> change;
};

// The model with changed weights, as a file of one type, or ("same") of those it has. What is quantised and not changed
// stays as it is unless floats are asked for; what is changed is encoded again, in Q8_0 or F16 where its own type is one
// that cannot be written.
Task<Result<QuantizeReport>> rewrite(const gguf::File& file, std::optional<quant::Mix> mix, WeightEdit edit,
                                     ByteSink& sink, std::function<void(uint64_t done, uint64_t total)> progress,
                                     Cancel cancel, std::function<Task<Status>()> breathe);

}  // namespace lapidary::model
