// The safetensors container: a JSON header that names tensors, then their values.
//
//   u64 length of the header | {"name": {"dtype", "shape", "data_offsets"}, "__metadata__": {…}} | values
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_source.h"
#include "base/error.h"
#include "base/tensor_type.h"

namespace lapidary::lora {

enum class Dtype : uint8_t { f32, f16, bf16, i32 };

std::string_view dtype_name(Dtype dtype);  // as the header spells it: "F32"
uint64_t dtype_bytes(Dtype dtype);
TensorType tensor_type(Dtype dtype);  // of the float ones

struct SafeTensor {
    std::string name;
    Dtype dtype = Dtype::f32;
    std::vector<uint64_t> shape;  // outermost dimension first; empty: one value
    uint64_t elements = 1;
    std::span<const uint8_t> bytes;  // of the file: elements · dtype_bytes
};

// Views into the bytes of a file, which must live as long.
class SafeTensors {
  public:
    static constexpr uint64_t kMaxHeaderBytes = 16 << 20;
    static constexpr size_t kMaxTensors = 65536;
    static constexpr size_t kMaxDims = 8;

    // Whether the bytes look like the beginning of such a file.
    static bool recognises(std::span<const uint8_t> file);
    static Result<SafeTensors> parse(std::span<const uint8_t> file);

    [[nodiscard]] std::span<const SafeTensor> tensors() const { return tensors_; }  // in the order of the header
    [[nodiscard]] const SafeTensor* find(std::string_view name) const;              // null when there is none
    [[nodiscard]] const std::map<std::string, std::string, std::less<>>& metadata() const { return metadata_; }
    // Empty when there is no such entry.
    [[nodiscard]] std::string_view metadata(std::string_view key) const;

  private:
    std::vector<SafeTensor> tensors_;
    std::map<std::string, size_t, std::less<>> index_;
    std::map<std::string, std::string, std::less<>> metadata_;
};

// Values of a float tensor (F32, F16, BF16) as f32; of an I32 tensor. Another kind is an error that names the tensor.
Result<std::vector<float>> floats_of(const SafeTensor& tensor);
Result<std::vector<int32_t>> integers_of(const SafeTensor& tensor);

// Collects tensors and makes the file of them. What is added must have as many values as its shape says.
class SafeTensorsWriter {
  public:
    void set_metadata(std::string_view key, std::string_view value);
    void add(std::string_view name, std::span<const uint64_t> shape, std::span<const float> values,
             Dtype dtype = Dtype::f32);
    void add(std::string_view name, std::span<const uint64_t> shape, std::span<const int32_t> values);

    [[nodiscard]] Bytes file() const;

  private:
    struct Entry {
        std::string name;
        Dtype dtype;
        std::vector<uint64_t> shape;
        uint64_t begin, end;
    };
    std::vector<std::pair<std::string, std::string>> metadata_;
    std::vector<Entry> entries_;
    Bytes values_;
};

}  // namespace lapidary::lora
