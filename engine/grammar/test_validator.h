// For tests and fuzzers: a plain reading of JSON Schema, written without a look at the compiler it checks. Patterns and formats
// are not read: they have tests of their own.
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

    [[nodiscard]] bool valid(const Value& value) const { return valid(value, root_, 0); }

  private:
    static constexpr int kMaxDepth = 200;  // beyond it nothing is judged

    static const Value& get(const Value& schema, const char* keyword) {
        static const Value none;
        const auto found = schema.find(keyword);
        return found == schema.end() ? none : *found;
    }
    static double number(const Value& schema, const char* keyword, double other) {
        const Value& value = get(schema, keyword);
        return value.is_number() ? value.get<double>() : other;
    }

    [[nodiscard]] bool valid(const Value& value, const Value& schema, int depth) const {
        if (schema.is_boolean()) return schema.get<bool>();
        if (!schema.is_object() || depth == kMaxDepth) return true;
        const auto holds = [&](const Value& inner) { return valid(value, inner, depth + 1); };
        const auto holding = [&](const Value& list) { return int(std::ranges::count_if(list, holds)); };
        if (const Value& reference = get(schema, "$ref"); reference.is_string()) {
            const std::string text = reference;
            const Value::json_pointer pointer(text.substr(1));
            if (root_.contains(pointer) && !holds(root_.at(pointer))) return false;
        }
        if (schema.contains("const") && value != schema["const"]) return false;
        if (const Value& list = get(schema, "enum"); list.is_array() && std::ranges::find(list, value) == list.end()) {
            return false;
        }
        if (const Value& list = get(schema, "anyOf"); list.is_array() && holding(list) == 0) return false;
        if (const Value& list = get(schema, "oneOf"); list.is_array() && holding(list) != 1) return false;
        if (const Value& list = get(schema, "allOf"); list.is_array() && holding(list) != int(list.size()))
            return false;
        if (schema.contains("not") && holds(schema["not"])) return false;
        if (schema.contains("if")) {
            const char* next = holds(schema["if"]) ? "then" : "else";
            if (schema.contains(next) && !holds(schema[next])) return false;
        }
        if (schema.contains("type") && !has_type(value, schema["type"])) return false;
        if (value.is_string()) return valid_string(value, schema);
        if (value.is_number()) return valid_number(value.get<double>(), schema);
        if (value.is_array()) return valid_array(value, schema, depth);
        if (value.is_object()) return valid_object(value, schema, depth);
        return true;
    }

    static bool has_type(const Value& value, const Value& type) {
        if (type.is_array()) return std::ranges::any_of(type, [&](const Value& one) { return has_type(value, one); });
        if (!type.is_string()) return true;
        const std::string name = type;
        if (name == "integer") return value.is_number() && std::floor(value.get<double>()) == value.get<double>();
        if (name == "number") return value.is_number();
        return name == value.type_name();  // object, array, string, boolean, null
    }

    static bool valid_string(const Value& value, const Value& schema) {
        double characters = 0;
        for (const char c : value.get_ref<const std::string&>()) characters += (uint8_t(c) & 0xC0) != 0x80 ? 1 : 0;
        return characters >= number(schema, "minLength", 0) && characters <= number(schema, "maxLength", characters);
    }

    static bool valid_number(double value, const Value& schema) {
        if (!std::isfinite(value)) return false;
        if (value < number(schema, "minimum", value) || value > number(schema, "maximum", value)) return false;
        if (get(schema, "exclusiveMinimum").is_number() && value <= schema["exclusiveMinimum"].get<double>())
            return false;
        if (get(schema, "exclusiveMaximum").is_number() && value >= schema["exclusiveMaximum"].get<double>())
            return false;
        const double step = number(schema, "multipleOf", 0);
        if (step <= 0) return true;
        const double times = value / step;
        // As many roundings as there were: what is next to nothing is not zero times the step, nor 1e13 + 0.1 a multiple of 0.25.
        return std::abs(times - std::round(times)) <= 1e-15 * std::abs(times);
    }

    [[nodiscard]] bool valid_array(const Value& value, const Value& schema, int depth) const {
        const auto size = double(value.size());
        if (size < number(schema, "minItems", 0) || size > number(schema, "maxItems", size)) return false;
        const Value& items = get(schema, "items");
        const Value& prefix = items.is_array() ? items : get(schema, "prefixItems");
        const Value& rest = items.is_array() ? get(schema, "additionalItems") : items;
        const size_t first = prefix.is_array() ? prefix.size() : 0;
        for (size_t i = 0; i < value.size(); ++i) {
            if (i < first && !valid(value[i], prefix[i], depth + 1)) return false;
            if (i >= first && !rest.is_null() && !valid(value[i], rest, depth + 1)) return false;
        }
        if (get(schema, "uniqueItems") == Value(true)) {
            for (size_t i = 0; i < value.size(); ++i) {
                for (size_t k = 0; k < i; ++k) {
                    if (value[i] == value[k]) return false;
                }
            }
        }
        const Value& contains = get(schema, "contains");
        if (contains.is_null()) return true;
        const auto found =
            double(std::ranges::count_if(value, [&](const Value& one) { return valid(one, contains, depth + 1); }));
        return found >= number(schema, "minContains", 1) && found <= number(schema, "maxContains", found);
    }

    [[nodiscard]] bool valid_object(const Value& value, const Value& schema, int depth) const {
        const auto size = double(value.size());
        if (size < number(schema, "minProperties", 0) || size > number(schema, "maxProperties", size)) return false;
        const auto has_all = [&](const Value& names) {
            return !names.is_array() || std::ranges::all_of(names, [&](const Value& name) {
                return !name.is_string() || value.contains(name.get_ref<const std::string&>());
            });
        };
        if (!has_all(get(schema, "required"))) return false;
        for (const char* keyword : {"dependencies", "dependentRequired", "dependentSchemas"}) {
            const Value& list = get(schema, keyword);
            if (!list.is_object()) continue;
            for (const auto& [name, needed] : list.items()) {
                if (!value.contains(name)) continue;
                if (needed.is_array() ? !has_all(needed) : !valid(value, needed, depth + 1)) return false;
            }
        }
        const Value& properties = get(schema, "properties");
        const Value& others = get(schema, "additionalProperties");
        const Value& names = get(schema, "propertyNames");
        const bool patterns = get(schema, "patternProperties").is_object();
        for (const auto& [name, inner] : value.items()) {
            if (!names.is_null() && !valid(Value(name), names, depth + 1)) return false;
            if (properties.is_object() && properties.contains(name)) {
                if (!valid(inner, properties[name], depth + 1)) return false;
            } else if (!others.is_null() && !patterns && !valid(inner, others, depth + 1)) {
                return false;
            }
        }
        return true;
    }

    const Value& root_;
};

}  // namespace lapidary::grammar
