// What must hold for any bytes whatsoever, once the GGUF reader has looked at them. The fuzzer and the replay of its
// corpus call the same function; it needs nothing but the engine, so that the fuzzer can link it.
#pragma once

#include <algorithm>
#include <bit>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "gguf/header.h"
#include "gguf/writer.h"

namespace lapidary::testing {

namespace detail {

inline bool inside(std::string_view text, const Bytes& bytes) {
    const auto* begin = reinterpret_cast<const char*>(bytes.data());
    return std::less_equal<>()(begin, text.data()) &&
           std::less_equal<>()(text.data() + text.size(), begin + bytes.size());
}

// The first thing that is wrong with a value, or nothing.
inline std::string broken_value(const gguf::Value& value, const Bytes& bytes) {
    const std::string_view view(reinterpret_cast<const char*>(value.bytes().data()), value.bytes().size());
    if (!inside(view, bytes)) return "a value lies outside the header";
    if (!value.well_formed()) return "a value is not well formed";
    const int kinds = int(value.as_number().has_value()) + int(value.as_string().has_value()) +
                      int(value.as_array().has_value()) + int(value.type() == gguf::ValueType::boolean);
    if (kinds != 1) return "a value is not of exactly one kind";
    if (value.as_integer() && !value.as_number()) return "an integer is no number";
    const auto array = value.as_array();
    if (!array) return {};
    uint64_t strings = 0;
    bool strings_inside = true;
    array->for_each_string([&](uint64_t index, std::string_view text) {
        strings_inside = strings_inside && index == strings && inside(text, bytes);
        ++strings;
    });
    if (!strings_inside) return "a string of an array lies outside the header";
    if (array->element_type() == gguf::ValueType::string) {
        return strings == array->size() ? "" : "an array of strings has another number of them";
    }
    for (uint64_t i = 0; i < array->size(); ++i) {
        if (!array->at(i).well_formed()) return "an element of an array is not well formed";
    }
    if (array->at(array->size()).well_formed()) return "an array goes on beyond its end";
    return {};
}

inline std::string broken_tensor(const gguf::Header& header, const gguf::TensorInfo& tensor) {
    if (tensor.name.empty() || tensor.name.size() > gguf::kMaxTensorName) return "a tensor's name has a wrong length";
    if (!inside(tensor.name, *header.bytes)) return "a tensor's name lies outside the header";
    if (header.find_tensor(tensor.name) != &tensor) return "a tensor is not found by its name";
    if (tensor.type == nullptr || tensor.n_dims > gguf::kMaxDims) return "a tensor has no type or too many dimensions";
    if (!check_range(tensor.range, header.file_length)) return "a tensor lies outside the file";
    if (tensor.range.offset < header.data_start) return "a tensor lies in the header";
    if ((tensor.range.offset - header.data_start) % header.alignment != 0) return "a tensor is not aligned";
    if (tensor.elements() % tensor.type->block_elements != 0 ||
        tensor.elements() / tensor.type->block_elements * tensor.type->block_bytes != tensor.range.size) {
        return "a tensor's size does not follow from its shape";
    }
    return {};
}

inline std::string broken_header(const gguf::Header& header, uint64_t file_length) {
    if (header.bytes == nullptr || header.file_length != file_length) return "the header lost its file";
    if (!std::has_single_bit(header.alignment) || header.data_start % header.alignment != 0) {
        return "the data section is not aligned";
    }
    for (const gguf::KeyValue& entry : header.keys) {
        if (entry.key.empty() || !inside(entry.key, *header.bytes)) return "a key lies outside the header";
        if (header.find(entry.key) != &entry.value) return "a key is not found by its name";
        if (auto broken = broken_value(entry.value, *header.bytes); !broken.empty()) return broken;
    }
    std::vector<ByteRange> ranges;
    for (const gguf::TensorInfo& tensor : header.tensors) {
        if (auto broken = broken_tensor(header, tensor); !broken.empty()) return broken;
        if (tensor.range.size > 0) ranges.push_back(tensor.range);
    }
    std::ranges::sort(ranges, {}, &ByteRange::offset);
    for (size_t i = 1; i < ranges.size(); ++i) {
        if (ranges[i - 1].offset + ranges[i - 1].size > ranges[i].offset) return "two tensors overlap";
    }
    return {};
}

// What was read can be written, and reads the same again.
inline std::string broken_copy(const gguf::Header& header) {
    if (header.alignment > (64 << 10)) return {};  // the writer would pad the header with up to 2 GiB
    gguf::Writer writer;
    for (const gguf::KeyValue& entry : header.keys) writer.set(entry.key, entry.value);
    for (const gguf::TensorInfo& tensor : header.tensors) writer.add_tensor(tensor);
    const auto layout = writer.layout();
    if (!layout) return "a header that was read cannot be written: " + layout.error().message;
    const auto parsed = gguf::parse_header(std::make_shared<const Bytes>(layout->header), layout->file_size);
    if (!parsed || !std::holds_alternative<gguf::Header>(*parsed)) return "a header that was written cannot be read";
    const auto& copy = std::get<gguf::Header>(*parsed);
    if (auto broken = broken_header(copy, layout->file_size); !broken.empty()) return "after copying: " + broken;
    const auto same_key = [](const gguf::KeyValue& a, const gguf::KeyValue& b) {
        return a.key == b.key && a.value.type() == b.value.type() &&
               std::ranges::equal(a.value.bytes(), b.value.bytes());
    };
    const auto same_tensor = [](const gguf::TensorInfo& a, const gguf::TensorInfo& b) {
        return a.name == b.name && a.type == b.type && a.n_dims == b.n_dims && a.ne == b.ne &&
               a.range.size == b.range.size;
    };
    if (!std::ranges::equal(header.keys, copy.keys, same_key)) return "copying changed the metadata";
    if (!std::ranges::equal(header.tensors, copy.tensors, same_tensor)) return "copying changed the tensors";
    return {};
}

}  // namespace detail

// Gives the bytes to the reader as a whole file, as the start of a longer one, and cut short. Returns the first
// promise it broke; empty when all is well, whether or not this is a good file.
inline std::string broken_gguf_promise(std::span<const uint8_t> data) {
    using gguf::Header;
    using gguf::NeedMore;
    const auto whole = std::make_shared<const Bytes>(data.begin(), data.end());
    const uint64_t size = whole->size();
    const auto parsed = gguf::parse_header(whole, size);
    const Header* header = parsed ? std::get_if<Header>(&*parsed) : nullptr;
    if (parsed && header == nullptr) return "a whole file needs more";
    if (!parsed && parsed.error().message.empty()) return "a refusal says nothing";
    if (header != nullptr) {
        if (auto broken = detail::broken_header(*header, size); !broken.empty()) return broken;
        if (auto broken = detail::broken_copy(*header); !broken.empty()) return broken;
    }

    // How much longer the file is, and where to cut it, are read from the input too: its last bytes.
    uint64_t tail = 0;
    for (size_t i = 0; i < 8 && i < data.size(); ++i) tail = tail << 8 | data[data.size() - 1 - i];
    const uint64_t longer = size + std::min(tail, ~uint64_t(0) - size);
    const auto as_start = gguf::parse_header(whole, longer);
    if (as_start) {
        if (const auto* more = std::get_if<NeedMore>(&*as_start)) {
            if (more->bytes <= size || more->bytes > longer)
                return "the start of a file asks for a wrong number of bytes";
        } else if (auto broken = detail::broken_header(std::get<Header>(*as_start), longer); !broken.empty()) {
            return "as the start of a longer file: " + broken;
        }
    }

    const uint64_t cut = size == 0 ? 0 : tail % size;
    const auto start = std::make_shared<const Bytes>(data.begin(), data.begin() + ptrdiff_t(cut));
    const auto from_start = gguf::parse_header(start, size);
    if (!from_start && header != nullptr) return "the start of a good file is refused";
    const auto* more = from_start ? std::get_if<NeedMore>(&*from_start) : nullptr;
    if (more != nullptr) {
        if (more->bytes <= cut || more->bytes > size) return "a cut file asks for a wrong number of bytes";
        if (header != nullptr && more->bytes > header->data_start) return "a cut file asks for more than the header";
    }
    if (from_start && more == nullptr && header == nullptr) return "the start of a bad file is accepted";
    return {};
}

}  // namespace lapidary::testing
