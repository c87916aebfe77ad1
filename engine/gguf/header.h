// The header of a GGUF file: metadata and a table of tensors, checked against the length of the file before
// anything in it is trusted.
#pragma once

#include <array>
#include <memory>
#include <string_view>
#include <variant>
#include <vector>

#include "base/byte_source.h"
#include "base/error.h"
#include "base/tensor_type.h"
#include "gguf/name_index.h"
#include "gguf/rules.h"
#include "gguf/value.h"

namespace lapidary::gguf {

struct TensorInfo {
    std::string_view name;
    const TensorTypeInfo* type = nullptr;  // never null once parsed
    uint32_t n_dims = 0;
    std::array<uint64_t, kMaxDims> ne{1, 1, 1, 1};  // ne[0] is the contiguous dimension
    ByteRange range;                                // in the file, not in the data section; inside the file

    // Cannot overflow, and neither can a product of only some of the dimensions: the parser has checked.
    [[nodiscard]] uint64_t elements() const { return ne[0] * ne[1] * ne[2] * ne[3]; }
    [[nodiscard]] std::span<const uint64_t> dims() const { return std::span(ne).first(n_dims); }
};

struct KeyValue {
    std::string_view key;
    Value value;
};

// Views point into `bytes`, which the header keeps alive: copies are safe.
class Header {
  public:
    uint32_t version = 0;
    uint64_t alignment = kDefaultAlignment;
    uint64_t data_start = 0;  // may lie beyond the end of a file that has no tensors
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
    NameIndex key_index_;
    NameIndex tensor_index_;
};

// More bytes of the file are needed to go on: at least this many from its start. Always more than were given,
// never more than the file has, and never more than the header of a good file takes.
struct NeedMore {
    uint64_t bytes = 0;
};

// A pure function over the first bytes of a file and its length: the header, how many bytes it needs to see,
// or why this is not a file we read.
Result<std::variant<Header, NeedMore>> parse_header(const std::shared_ptr<const Bytes>& prefix, uint64_t file_length);

// Reads as much of the start of the file as the header takes (at most twice that, or 64 KiB), and parses it.
Task<Result<Header>> read_header(ByteSource& source, Cancel cancel);

}  // namespace lapidary::gguf
