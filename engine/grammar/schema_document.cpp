#include "grammar/schema_document.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <optional>

namespace lapidary::grammar {
namespace {

constexpr std::array<std::string_view, 7> kTypeNames = {"object",  "array",   "string", "number",
                                                        "integer", "boolean", "null"};
constexpr int kMaxHops = 64;

struct TypedKeyword {
    const char* keyword;
    Type type;
};
constexpr auto kTypedKeywords = std::to_array<TypedKeyword>({{"properties", Type::object},
                                                             {"required", Type::object},
                                                             {"additionalProperties", Type::object},
                                                             {"items", Type::array},
                                                             {"prefixItems", Type::array},
                                                             {"minItems", Type::array},
                                                             {"maxItems", Type::array},
                                                             {"minLength", Type::string},
                                                             {"maxLength", Type::string},
                                                             {"pattern", Type::string},
                                                             {"format", Type::string},
                                                             {"minimum", Type::number},
                                                             {"maximum", Type::number},
                                                             {"exclusiveMinimum", Type::number},
                                                             {"exclusiveMaximum", Type::number}});

// The values a schema is limited to by enum or const, if it is.
std::optional<std::vector<Json>> listed(const Json& schema) {
    if (schema.is_object() && schema.contains("const")) return std::vector{schema["const"]};
    const Json& values = chat::member(schema, "enum");
    if (!values.is_array()) return std::nullopt;
    return std::vector<Json>(values.begin(), values.end());
}

bool requires_member(const Json& schema, const std::string& name) {
    const Json& required = chat::member(schema, "required");
    return required.is_array() && std::ranges::find(required, Json(name)) != required.end();
}

bool overlap(Type a, Type b) {
    const bool numbers = (a == Type::number || a == Type::integer) && (b == Type::number || b == Type::integer);
    return a == b || numbers;
}

}  // namespace

std::string_view type_name(Type type) {
    return kTypeNames[size_t(type)];
}

Result<const Json*> SchemaDocument::find(std::string_view reference) const {
    const auto lost = [&] {
        return fail(Code::invalid_argument,
                    "the schema refers to '{}', which is not in it; references look like #/$defs/name",
                    printable(reference));
    };
    if (!reference.starts_with('#')) return lost();
    const Json* at = &root_;
    std::string_view rest = reference.substr(1);
    while (!rest.empty()) {
        if (rest[0] != '/') return lost();
        rest.remove_prefix(1);
        std::string step;
        for (; !rest.empty() && rest[0] != '/'; rest.remove_prefix(1)) {
            const bool escaped = rest[0] == '~' && rest.size() > 1 && (rest[1] == '0' || rest[1] == '1');
            step += !escaped ? rest[0] : rest[1] == '0' ? '~' : '/';
            if (escaped) rest.remove_prefix(1);
        }
        if (at->is_object()) {
            const auto found = at->find(step);
            if (found == at->end()) return lost();
            at = &*found;
        } else if (at->is_array()) {
            const bool number = !step.empty() && step.size() < 6 &&
                                std::ranges::all_of(step, [](char c) { return c >= '0' && c <= '9'; });
            const size_t index = number ? size_t(std::strtoul(step.c_str(), nullptr, 10)) : at->size();
            if (index >= at->size()) return lost();
            at = &(*at)[index];
        } else {
            return lost();
        }
    }
    return at;
}

const Json* SchemaDocument::resolved(const Json* schema) const {
    const Json* at = schema;
    for (int hop = 0; hop < kMaxHops; ++hop) {
        const Json& reference = chat::member(*at, "$ref");
        const Json& all = chat::member(*at, "allOf");
        if (reference.is_string()) {
            const auto found = find(chat::string_of(reference));
            if (!found) return schema;
            at = *found;
        } else if (all.is_array() && all.size() == 1) {
            at = &all[0];
        } else {
            return at;
        }
    }
    return schema;
}

Result<std::vector<Type>> SchemaDocument::types(const Json& schema) {
    std::vector<Type> out;
    const auto add = [&](Type type) {
        if (std::ranges::find(out, type) == out.end()) out.push_back(type);
    };
    const Json& given = chat::member(schema, "type");
    if (!given.is_null()) {
        const Json list = given.is_array() ? given : Json::array({given});
        for (const Json& name : list) {
            const auto found = std::ranges::find(kTypeNames, chat::string_of(name));
            if (found == kTypeNames.end()) {
                return fail(Code::invalid_argument, "'{}' is not a type of JSON", printable(chat::json_text(name)));
            }
            add(Type(found - kTypeNames.begin()));
        }
        if (out.empty()) return fail(Code::invalid_argument, "the schema has an empty list of types");
        return out;
    }
    for (const TypedKeyword& known : kTypedKeywords) {
        if (schema.is_object() && schema.contains(known.keyword)) add(known.type);
    }
    if (out.empty()) {
        out = {Type::object, Type::array, Type::string, Type::number, Type::boolean, Type::null};
    }
    return out;
}

bool SchemaDocument::has_type(const Json& value, Type type) {
    switch (type) {
        case Type::object: return value.is_object();
        case Type::array: return value.is_array();
        case Type::string: return value.is_string();
        case Type::number: return value.is_number();
        case Type::boolean: return value.is_boolean();
        case Type::null: return value.is_null();
        case Type::integer: {
            if (value.is_number_integer()) return true;
            const double number = value.is_number() ? value.get<double>() : 0.5;
            return number > -1e15 && number < 1e15 && double(int64_t(number)) == number;
        }
    }
    return false;
}

bool SchemaDocument::exclude_each_other(const Json& first, const Json& second, int depth) const {
    constexpr int kMaxDepth = 4;
    const Json& a = *resolved(&first);
    const Json& b = *resolved(&second);
    if (a.is_boolean() || b.is_boolean()) return a == Json(false) || b == Json(false);
    if (depth == kMaxDepth || !a.is_object() || !b.is_object()) return false;
    // A schema of alternatives excludes another if each of them does.
    for (const char* keyword : {"anyOf", "oneOf"}) {
        const auto all_exclude = [&](const Json& list, const Json& other) {
            return std::ranges::all_of(list,
                                       [&](const Json& one) { return exclude_each_other(one, other, depth + 1); });
        };
        if (const Json& list = chat::member(a, keyword); list.is_array()) return all_exclude(list, b);
        if (const Json& list = chat::member(b, keyword); list.is_array()) return all_exclude(list, a);
    }
    const auto a_values = listed(a);
    const auto b_values = listed(b);
    if (a_values && b_values) {
        return std::ranges::none_of(
            *a_values, [&](const Json& value) { return std::ranges::find(*b_values, value) != b_values->end(); });
    }
    const auto a_types = types(a);
    const auto b_types = types(b);
    if (!a_types || !b_types) return false;
    if (a_values || b_values) {
        const auto& values = a_values ? *a_values : *b_values;
        const auto& others = a_values ? *b_types : *a_types;
        return std::ranges::none_of(values, [&](const Json& value) {
            return std::ranges::any_of(others, [&](Type type) { return has_type(value, type); });
        });
    }
    for (const Type mine : *a_types) {
        for (const Type other : *b_types) {
            if (!overlap(mine, other)) continue;
            if (mine != Type::object || !objects_exclude(a, b, depth)) return false;
        }
    }
    return true;
}

bool SchemaDocument::objects_exclude(const Json& a, const Json& b, int depth) const {
    const Json& a_members = chat::member(a, "properties");
    const Json& b_members = chat::member(b, "properties");
    // A member both have: it must be there, and be one thing in one and something else in the other.
    for (const auto& [name, schema] : a_members.items()) {
        if (!b_members.is_object() || !b_members.contains(name)) continue;
        if (!requires_member(a, name) || !requires_member(b, name)) continue;
        if (exclude_each_other(schema, b_members[name], depth + 1)) return true;
    }
    // Or each requires a member that the other never writes.
    const auto writes = [](const Json& schema, const std::string& name) {
        const Json& more = chat::member(schema, "additionalProperties");
        const Json& members = chat::member(schema, "properties");
        const bool open = members.is_object() ? !more.is_null() && more != Json(false) : more != Json(false);
        return open || (members.is_object() && members.contains(name)) || requires_member(schema, name);
    };
    const auto lacks = [&](const Json& one, const Json& other) {
        const Json& required = chat::member(other, "required");
        return required.is_array() && std::ranges::any_of(required, [&](const Json& name) {
                   return name.is_string() && !writes(one, name.get<std::string>());
               });
    };
    return lacks(a, b) && lacks(b, a);
}

}  // namespace lapidary::grammar
