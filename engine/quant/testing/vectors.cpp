#include "quant/testing/vectors.h"

#include <bit>
#include <cstring>
#include <nlohmann/json.hpp>

#include "testing/files.h"

namespace lapidary::quant::testing {
namespace {

std::vector<uint8_t> from_hex(std::string_view hex) {
    const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
    std::vector<uint8_t> bytes(hex.size() / 2);
    for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = uint8_t(digit(hex[2 * i]) << 4 | digit(hex[2 * i + 1]));
    return bytes;
}

}  // namespace

std::vector<Vector> read_vectors(std::string_view kind) {
    const auto text = lapidary::testing::read_text("tests/data/vocab/quant-vectors.json");
    if (!text) return {};
    const auto json = nlohmann::json::parse(*text, nullptr, false);
    if (json.is_discarded() || !json.contains(std::string(kind))) return {};
    std::vector<Vector> vectors;
    for (const auto& item : json[std::string(kind)]) {
        Vector vector;
        vector.name = item["type"].get<std::string>();
        vector.block = from_hex(item["block_hex"].get<std::string>());
        const auto bytes = from_hex(item["f32_hex"].get<std::string>());
        vector.values.resize(bytes.size() / sizeof(float));
        std::memcpy(vector.values.data(), bytes.data(), bytes.size());
        vectors.push_back(std::move(vector));
    }
    return vectors;
}

const TensorTypeInfo* find_by_name(std::string_view name) {
    for (int32_t id = 0; id < 64; ++id) {
        const TensorTypeInfo* info = find_tensor_type(id);
        if (info != nullptr && info->decodable && info->name == name) return info;
    }
    return nullptr;
}

std::vector<TensorType> all_types() {
    std::vector<TensorType> types;
    for (int32_t id = 0; id < 64; ++id) {
        const TensorTypeInfo* info = find_tensor_type(id);
        if (info != nullptr && info->decodable) types.push_back(TensorType(id));
    }
    return types;
}

std::vector<float> Random::weights(size_t count, float scale) {
    std::vector<float> values(count);
    for (float& value : values) value = scale * bell();
    return values;
}

bool same_bits(float a, float b) {
    return std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b);
}

}  // namespace lapidary::quant::testing
