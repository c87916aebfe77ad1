#include "testing/safetensors.h"

#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "testing/files.h"

namespace lapidary::testing {

using namespace nlohmann::literals;

std::optional<ExpectedTensors> read_safetensors(std::string_view path) {
    const auto file = read_file(path);
    if (!file || file->size() < 8) return std::nullopt;
    uint64_t header_size = 0;
    std::memcpy(&header_size, file->data(), 8);
    if (header_size > file->size() - 8) return std::nullopt;
    const auto* begin = reinterpret_cast<const char*>(file->data()) + 8;
    const auto header = nlohmann::json::parse(begin, begin + header_size, nullptr, false);
    if (!header.is_object()) return std::nullopt;
    const uint8_t* data = file->data() + 8 + header_size;
    ExpectedTensors out;
    for (const auto& [name, info] : header.items()) {
        if (name == "__metadata__") continue;
        ExpectedTensor tensor;
        tensor.shape = info["shape"].get<std::vector<uint64_t>>();
        const auto from = info["data_offsets"][0].get<uint64_t>();
        const auto to = info["data_offsets"][1].get<uint64_t>();
        const bool is_float = info["dtype"] == "F32";
        if (to < from || to > file->size() - 8 - header_size) return std::nullopt;
        if (is_float) tensor.floats.resize(size_t(to - from) / 4);
        if (!is_float) tensor.integers.resize(size_t(to - from) / 4);
        std::memcpy(is_float ? static_cast<void*>(tensor.floats.data()) : tensor.integers.data(), data + from,
                    size_t(to - from));
        out.emplace(name, std::move(tensor));
    }
    // Large ones are thinned out, and {tensor: stride} is a text of its own.
    const auto place = "/__metadata__/row_strides"_json_pointer;
    const auto text = header.contains(place) ? header[place].get<std::string>() : "{}";
    for (const auto& [name, stride] : nlohmann::json::parse(text, nullptr, false).items()) {
        if (out.contains(name)) out.at(name).stride = stride.get<size_t>();
    }
    return out;
}

std::vector<float> rows_of(const ExpectedTensor& tensor, std::span<const float> all) {
    const size_t width = size_t(tensor.shape.back());
    std::vector<float> out;
    for (size_t row = 0; row < all.size() / width; row += tensor.stride) {
        const auto values = all.subspan(row * width, width);
        out.insert(out.end(), values.begin(), values.end());
    }
    return out;
}

double relative_l2(std::span<const float> actual, std::span<const float> expected) {
    double difference = 0;
    double norm = 0;
    for (size_t i = 0; i < expected.size(); ++i) {
        difference += std::pow(double(actual[i]) - double(expected[i]), 2);
        norm += std::pow(double(expected[i]), 2);
    }
    return std::sqrt(difference / norm);
}

}  // namespace lapidary::testing
