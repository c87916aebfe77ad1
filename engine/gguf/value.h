// Metadata values as they lie in the header: views into its bytes, decoded when asked for.
#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace lapidary::gguf {

enum class ValueType : int32_t {
    none = -1,  // never in a file: an element that is not there
    uint8 = 0,
    int8 = 1,
    uint16 = 2,
    int16 = 3,
    uint32 = 4,
    int32 = 5,
    float32 = 6,
    boolean = 7,
    string = 8,
    array = 9,
    uint64 = 10,
    int64 = 11,
    float64 = 12,
};

// Bytes of one value of a fixed-size type; 0 for string, array and unknown types.
uint32_t fixed_size(ValueType type);
std::string_view value_type_name(ValueType type);

class Value;

// An array of scalars or strings. Its bytes have been walked once by the parser, so iterating cannot run out.
class Array {
  public:
    Array(ValueType element_type, uint64_t count, std::span<const uint8_t> bytes)
        : element_type_(element_type), count_(count), bytes_(bytes) {}

    [[nodiscard]] ValueType element_type() const { return element_type_; }
    [[nodiscard]] uint64_t size() const { return count_; }
    // The encoded elements, for copying as they are.
    [[nodiscard]] std::span<const uint8_t> bytes() const { return bytes_; }

    // Element `index` of an array of scalars. Beyond the end, and for strings (those are read in order, see
    // for_each_string), a value of type none, of which every as_… function is empty.
    [[nodiscard]] Value at(uint64_t index) const;

    // Calls visit(index, text) for every string; does nothing for an array of scalars.
    template <class Visitor>
    void for_each_string(Visitor&& visit) const;

  private:
    ValueType element_type_;
    uint64_t count_;
    std::span<const uint8_t> bytes_;
};

// One value. The as_… functions convert where nothing is lost and are empty otherwise: writers disagree about
// integer widths, so a reader that insists on one width would refuse good files.
class Value {
  public:
    Value(ValueType type, std::span<const uint8_t> bytes) : type_(type), bytes_(bytes) {}

    [[nodiscard]] ValueType type() const { return type_; }
    // The encoded value, for copying as it is.
    [[nodiscard]] std::span<const uint8_t> bytes() const { return bytes_; }

    // Whether the bytes are one whole value of the type. True of everything the parser made.
    [[nodiscard]] bool well_formed() const;

    [[nodiscard]] std::optional<int64_t> as_integer() const;  // any integer type that fits
    [[nodiscard]] std::optional<double> as_number() const;    // any integer or float type
    [[nodiscard]] std::optional<bool> as_bool() const;        // bool, or an integer 0 or 1
    [[nodiscard]] std::optional<std::string_view> as_string() const;
    [[nodiscard]] std::optional<Array> as_array() const;

  private:
    ValueType type_;
    std::span<const uint8_t> bytes_;  // without the type word; a string or array includes its length words
};

static_assert(std::endian::native == std::endian::little, "GGUF files are read as they lie");

// Loads from unaligned bytes; the caller has checked that there are enough.
template <class T>
T load(const uint8_t* at) {
    T value;
    __builtin_memcpy(&value, at, sizeof(T));
    return value;
}

template <class Visitor>
void Array::for_each_string(Visitor&& visit) const {
    if (element_type_ != ValueType::string) return;
    const uint8_t* at = bytes_.data();
    for (uint64_t i = 0; i < count_; ++i) {
        const auto length = load<uint64_t>(at);
        visit(i, std::string_view(reinterpret_cast<const char*>(at) + 8, size_t(length)));
        at += 8 + length;
    }
}

}  // namespace lapidary::gguf
