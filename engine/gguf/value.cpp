#include "gguf/value.h"

#include <limits>

namespace lapidary::gguf {

uint32_t fixed_size(ValueType type) {
    switch (type) {
        case ValueType::uint8:
        case ValueType::int8:
        case ValueType::boolean: return 1;
        case ValueType::uint16:
        case ValueType::int16: return 2;
        case ValueType::uint32:
        case ValueType::int32:
        case ValueType::float32: return 4;
        case ValueType::uint64:
        case ValueType::int64:
        case ValueType::float64: return 8;
        case ValueType::none:
        case ValueType::string:
        case ValueType::array: return 0;
    }
    return 0;
}

std::string_view value_type_name(ValueType type) {
    switch (type) {
        case ValueType::none: return "unknown";
        case ValueType::uint8: return "uint8";
        case ValueType::int8: return "int8";
        case ValueType::uint16: return "uint16";
        case ValueType::int16: return "int16";
        case ValueType::uint32: return "uint32";
        case ValueType::int32: return "int32";
        case ValueType::float32: return "float32";
        case ValueType::boolean: return "bool";
        case ValueType::string: return "string";
        case ValueType::array: return "array";
        case ValueType::uint64: return "uint64";
        case ValueType::int64: return "int64";
        case ValueType::float64: return "float64";
    }
    return "unknown";
}

namespace {

bool well_formed_array(std::span<const uint8_t> bytes) {
    if (bytes.size() < 12) return false;
    const auto element = ValueType(load<int32_t>(bytes.data()));
    const auto count = load<uint64_t>(bytes.data() + 4);
    bytes = bytes.subspan(12);
    if (const uint32_t size = fixed_size(element); size > 0) {
        return count == bytes.size() / size && bytes.size() % size == 0;
    }
    if (element != ValueType::string) return false;
    for (uint64_t i = 0; i < count; ++i) {
        if (bytes.size() < 8) return false;
        const auto length = load<uint64_t>(bytes.data());
        if (length > bytes.size() - 8) return false;
        bytes = bytes.subspan(8 + size_t(length));
    }
    return bytes.empty();
}

}  // namespace

bool Value::well_formed() const {
    if (const uint32_t size = fixed_size(type_); size > 0) return bytes_.size() == size;
    if (type_ == ValueType::string) return bytes_.size() >= 8 && load<uint64_t>(bytes_.data()) == bytes_.size() - 8;
    return type_ == ValueType::array && well_formed_array(bytes_);
}

std::optional<int64_t> Value::as_integer() const {
    const uint8_t* at = bytes_.data();
    switch (type_) {
        case ValueType::uint8: return load<uint8_t>(at);
        case ValueType::int8: return load<int8_t>(at);
        case ValueType::uint16: return load<uint16_t>(at);
        case ValueType::int16: return load<int16_t>(at);
        case ValueType::uint32: return load<uint32_t>(at);
        case ValueType::int32: return load<int32_t>(at);
        case ValueType::int64: return load<int64_t>(at);
        case ValueType::uint64: {
            const auto value = load<uint64_t>(at);
            if (value > uint64_t(std::numeric_limits<int64_t>::max())) return std::nullopt;
            return int64_t(value);
        }
        default: return std::nullopt;
    }
}

std::optional<double> Value::as_number() const {
    if (type_ == ValueType::float32) return load<float>(bytes_.data());
    if (type_ == ValueType::float64) return load<double>(bytes_.data());
    if (type_ == ValueType::uint64) return double(load<uint64_t>(bytes_.data()));
    const auto integer = as_integer();
    if (!integer) return std::nullopt;
    return double(*integer);
}

std::optional<bool> Value::as_bool() const {
    if (type_ == ValueType::boolean) return bytes_[0] != 0;
    const auto integer = as_integer();
    if (!integer || (*integer != 0 && *integer != 1)) return std::nullopt;
    return *integer == 1;
}

std::optional<std::string_view> Value::as_string() const {
    if (type_ != ValueType::string) return std::nullopt;
    return std::string_view(reinterpret_cast<const char*>(bytes_.data()) + 8, bytes_.size() - 8);
}

std::optional<Array> Value::as_array() const {
    if (type_ != ValueType::array) return std::nullopt;
    return Array(ValueType(load<int32_t>(bytes_.data())), load<uint64_t>(bytes_.data() + 4), bytes_.subspan(12));
}

Value Array::at(uint64_t index) const {
    const uint32_t size = fixed_size(element_type_);
    if (size == 0 || index >= count_) return {ValueType::none, {}};
    return {element_type_, bytes_.subspan(size_t(index) * size, size)};
}

}  // namespace lapidary::gguf
