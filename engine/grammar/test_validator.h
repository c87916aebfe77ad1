// For tests: a plain reading of JSON Schema, written without a look at the compiler it checks.
#pragma once

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

namespace lapidary::grammar {

class TestValidator {
  public:
    using Value = nlohmann::json;
    explicit TestValidator(const Value& root) : root_(root) {}

    [[nodiscard]] bool valid(const Value& value) const { return valid(value, root_); }

  private:
    [[nodiscard]] bool valid(const Value& value, const Value& schema) const {
        if (schema.is_boolean()) return schema.get<bool>();
        if (schema.contains("$ref")) {
            const std::string reference = schema["$ref"];
            return valid(value, root_.at(Value::json_pointer(reference.substr(1))));
        }
        if (schema.contains("const") && value != schema["const"]) return false;
        if (schema.contains("enum") && std::ranges::find(schema["enum"], value) == schema["enum"].end()) return false;
        if (schema.contains("anyOf") && matches(value, schema["anyOf"]) == 0) return false;
        if (schema.contains("oneOf") && matches(value, schema["oneOf"]) != 1) return false;
        if (schema.contains("allOf") && matches(value, schema["allOf"]) != int(schema["allOf"].size())) return false;
        if (schema.contains("type") && !has_type(value, schema["type"])) return false;
        if (value.is_string()) return valid_string(value, schema);
        if (value.is_number()) return valid_number(value.get<double>(), schema);
        if (value.is_array()) return valid_array(value, schema);
        if (value.is_object()) return valid_object(value, schema);
        return true;
    }

    [[nodiscard]] int matches(const Value& value, const Value& list) const {
        return int(std::ranges::count_if(list, [&](const Value& schema) { return valid(value, schema); }));
    }

    static bool has_type(const Value& value, const Value& type) {
        if (type.is_array()) return std::ranges::any_of(type, [&](const Value& one) { return has_type(value, one); });
        const std::string name = type;
        if (name == "integer") return value.is_number() && std::floor(value.get<double>()) == value.get<double>();
        if (name == "number") return value.is_number();
        return name == value.type_name();  // object, array, string, boolean, null
    }

    static bool valid_string(const Value& value, const Value& schema) {
        size_t characters = 0;
        for (const char c : value.get_ref<const std::string&>()) characters += (uint8_t(c) & 0xC0) != 0x80 ? 1 : 0;
        return characters >= schema.value("minLength", size_t(0)) &&
               characters <= schema.value("maxLength", ~size_t(0));
    }

    static bool valid_number(double value, const Value& schema) {
        if (!std::isfinite(value)) return false;
        if (schema.contains("minimum") && value < schema["minimum"].get<double>()) return false;
        if (schema.contains("maximum") && value > schema["maximum"].get<double>()) return false;
        if (schema.contains("exclusiveMinimum") && value <= schema["exclusiveMinimum"].get<double>()) return false;
        return !schema.contains("exclusiveMaximum") || value < schema["exclusiveMaximum"].get<double>();
    }

    [[nodiscard]] bool valid_array(const Value& value, const Value& schema) const {
        if (value.size() < schema.value("minItems", size_t(0)) || value.size() > schema.value("maxItems", ~size_t(0))) {
            return false;
        }
        const Value prefix = schema.value("prefixItems", Value::array());
        for (size_t i = 0; i < value.size(); ++i) {
            if (i < prefix.size() && !valid(value[i], prefix[i])) return false;
            if (i >= prefix.size() && schema.contains("items") && !valid(value[i], schema["items"])) return false;
        }
        return true;
    }

    [[nodiscard]] bool valid_object(const Value& value, const Value& schema) const {
        for (const Value& name : schema.value("required", Value::array())) {
            if (!value.contains(name.get<std::string>())) return false;
        }
        const Value properties = schema.value("properties", Value::object());
        for (const auto& [name, inner] : value.items()) {
            if (properties.contains(name)) {
                if (!valid(inner, properties[name])) return false;
            } else if (schema.contains("additionalProperties") && !valid(inner, schema["additionalProperties"])) {
                return false;
            }
        }
        return true;
    }

    const Value& root_;
};

}  // namespace lapidary::grammar
