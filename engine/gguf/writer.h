// Builds the header of a GGUF file (version 3) and says where each tensor's bytes go.
//
//   Writer writer;
//   writer.set_string("general.architecture", "gemma4");
//   writer.add_tensor("token_embd.weight", TensorType::q4_0, {1536, 262144});
//   const Layout layout = TRY(writer.layout());   // then write layout.header, and each tensor at its range
#pragma once

#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "gguf/header.h"

namespace lapidary::gguf {

// Everything about the file but the tensors' bytes. What lies between the ranges is zero bytes.
struct Layout {
    Bytes header;                    // with the padding: exactly up to the first tensor
    std::vector<ByteRange> tensors;  // in the file, in the order they were added; one after the other
    uint64_t file_size = 0;          // with the padding after the last tensor
};

// Nothing is checked while things are added; `layout` refuses whatever the reader would refuse.
class Writer {
  public:
    // Adds a key, or gives the one that is there a new value in its place.
    void set_bool(std::string_view key, bool value);
    void set_u16(std::string_view key, uint16_t value);
    void set_u32(std::string_view key, uint32_t value);
    void set_i32(std::string_view key, int32_t value);
    void set_u64(std::string_view key, uint64_t value);
    void set_f32(std::string_view key, float value);
    void set_string(std::string_view key, std::string_view text);
    void set_bools(std::string_view key, const std::vector<bool>& values);
    void set_u32s(std::string_view key, std::span<const uint32_t> values);
    void set_i32s(std::string_view key, std::span<const int32_t> values);
    void set_f32s(std::string_view key, std::span<const float> values);
    void set_strings(std::string_view key, std::span<const std::string> texts);
    void set_strings(std::string_view key, std::span<const std::string_view> texts);

    // A value of any type, copied from another header (or made by hand).
    void set(std::string_view key, const Value& value);

    // Takes a key out; nothing happens when it is not there.
    void remove(std::string_view key);

    // 32 unless set. The same as setting the uint32 key general.alignment.
    void set_alignment(uint32_t alignment) { set_u32(kAlignmentKey, alignment); }

    // dims[0] is the contiguous dimension.
    void add_tensor(std::string_view name, TensorType type, std::span<const uint64_t> dims);
    void add_tensor(std::string_view name, TensorType type, std::initializer_list<uint64_t> dims);
    // Name, type and shape of a tensor of another file; types the engine cannot decode are fine here.
    void add_tensor(const TensorInfo& tensor);

    [[nodiscard]] Result<Layout> layout() const;

  private:
    struct Key {
        std::string name;
        ValueType type;
        Bytes bytes;
    };
    struct Tensor {
        std::string name;
        int32_t type;
        std::vector<uint64_t> dims;
    };

    template <class T>
    void set_scalar(std::string_view key, ValueType type, T value);
    template <class T>
    void set_array(std::string_view key, ValueType type, std::span<const T> values);
    template <class Text>
    void set_texts(std::string_view key, std::span<const Text> texts);
    void set_bytes(std::string_view key, ValueType type, Bytes bytes);
    [[nodiscard]] Result<uint64_t> alignment() const;
    [[nodiscard]] Result<Layout> place() const;

    std::vector<Key> keys_;  // in the order they were first set
    std::map<std::string, size_t, std::less<>> key_positions_;
    std::vector<Tensor> tensors_;
};

}  // namespace lapidary::gguf
