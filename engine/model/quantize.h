// Turns a model with float weights into a smaller one: reads tensor by tensor, encodes, writes. Never holds more
// than a few megabytes.
#pragma once

#include <functional>
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

}  // namespace lapidary::model
