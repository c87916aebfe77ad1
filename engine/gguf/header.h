// The header of a GGUF file: metadata and a table of tensors, checked against the length of the file before
// anything in it is trusted.
#pragma once

#include <array>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "base/byte_source.h"
#include "base/error.h"
#include "base/tensor_type.h"
#include "gguf/value.h"

namespace lapidary::gguf {

// Beyond these a file is refused whatever it says. Real Gemma 4 headers: 16 MB, 50 keys, up to 2,200 tensors.
inline constexpr uint64_t kMaxHeaderBytes = 256ull << 20;
inline constexpr uint64_t kMaxKeys = 1 << 16;
inline constexpr uint64_t kMaxTensors = 1 << 17;
inline constexpr uint64_t kMaxStringBytes = 1ull << 30;
inline constexpr uint64_t kMaxArrayElements = 1ull << 30;
inline constexpr size_t kMaxTensorName = 63;
inline constexpr size_t kMaxDims = 4;

struct TensorInfo {
    std::string_view name;
    const TensorTypeInfo* type = nullptr;  // never null once parsed
    uint32_t n_dims = 0;
    std::array<uint64_t, kMaxDims> ne{1, 1, 1, 1};  // ne[0] is the contiguous dimension
    ByteRange range;                                // in the file, not in the data section; inside the file

    [[nodiscard]] uint64_t elements() const { return ne[0] * ne[1] * ne[2] * ne[3]; }
};

struct KeyValue {
    std::string_view key;
    Value value;
};

// Views point into `bytes`, which the header keeps alive: copies are cheap and safe.
class Header {
  public:
    uint32_t version = 0;
    uint64_t alignment = 32;
    uint64_t data_start = 0;
    uint64_t file_length = 0;
    std::vector<KeyValue> keys;       // in file order
    std::vector<TensorInfo> tensors;  // in file order
    std::shared_ptr<const Bytes> bytes;

    // Null when there is none.
    [[nodiscard]] const Value* find(std::string_view key) const;
    [[nodiscard]] const TensorInfo* find_tensor(std::string_view name) const;

    // Conveniences for optional keys: empty when absent or of another kind.
    [[nodiscard]] std::optional<int64_t> integer(std::string_view key) const;
    [[nodiscard]] std::optional<double> number(std::string_view key) const;
    [[nodiscard]] std::optional<std::string_view> string(std::string_view key) const;

  private:
    friend class HeaderParser;
    std::unordered_map<std::string_view, uint32_t> key_index_;
    std::unordered_map<std::string_view, uint32_t> tensor_index_;
};

// More bytes of the file are needed to go on: at least this many from its start.
struct NeedMore {
    uint64_t bytes = 0;
};

// A pure function over the first bytes of a file and its length: the header, how many bytes it needs to see,
// or why this is not a file we read.
Result<std::variant<Header, NeedMore>> parse_header(const std::shared_ptr<const Bytes>& prefix, uint64_t file_length);

// Reads as much of the start of the file as the header takes, and parses it.
Task<Result<Header>> read_header(ByteSource& source, Cancel cancel);

}  // namespace lapidary::gguf
