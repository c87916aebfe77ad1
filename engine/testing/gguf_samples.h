// Small GGUF files, good and broken: the tests of the reader walk this table, and the fuzzer starts from it
// (tests/data/fuzz/gguf).
#pragma once

#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_source.h"
#include "base/error.h"
#include "gguf/value.h"
#include "gguf/writer.h"

namespace lapidary::testing {

// Puts bytes together without any check, for files that no writer should write.
class RawGguf {
  public:
    RawGguf() = default;
    RawGguf(int64_t n_tensors, int64_t n_keys, uint32_t version = 3);

    template <class T>
    RawGguf& put(T value) {
        const auto* at = reinterpret_cast<const uint8_t*>(&value);
        bytes_.insert(bytes_.end(), at, at + sizeof(T));
        return *this;
    }
    RawGguf& text(std::string_view text);  // length and bytes
    RawGguf& key(std::string_view name, gguf::ValueType type);
    RawGguf& key(std::string_view name, int32_t type) { return key(name, gguf::ValueType(type)); }
    RawGguf& array(std::string_view name, gguf::ValueType element, uint64_t count);
    RawGguf& tensor(std::string_view name, const std::vector<int64_t>& dims, int32_t type, uint64_t offset);
    RawGguf& pad(size_t alignment = 32);
    RawGguf& zeros(size_t count);

    [[nodiscard]] Bytes bytes() const { return bytes_; }

  private:
    Bytes bytes_;
};

struct GgufSample {
    std::string name;  // what the reader does with it, as a sentence in CamelCase
    Bytes bytes;
    std::optional<Code> refusal;  // empty: a good file
    std::string culprit;          // what the refusal must name

    // How a failed test shows it.
    friend void PrintTo(const GgufSample& sample, std::ostream* out) { *out << sample.name; }
};

std::vector<GgufSample> gguf_samples();

// The header and zeros for the tensors, as one file.
Bytes whole_file(const gguf::Writer& writer);

// A small file with a bit of everything: text, numbers, arrays, tensors of several types.
gguf::Writer small_model();

}  // namespace lapidary::testing
