#include "grammar/schema_check.h"

#include <algorithm>

#include "grammar/decimal_bound.h"

namespace lapidary::grammar {
namespace {

constexpr int kMaxCheckDepth = 100;

Verdict both(Verdict a, Verdict b) {
    if (a == Verdict::no || b == Verdict::no) return Verdict::no;
    return a == Verdict::yes ? b : Verdict::unsure;
}

Verdict opposite(Verdict a) {
    return a == Verdict::unsure ? a : a == Verdict::yes ? Verdict::no : Verdict::yes;
}

Verdict truth(bool holds) {
    return holds ? Verdict::yes : Verdict::no;
}

}  // namespace

Verdict SchemaCheck::check(const Json& value, const Json& given, int depth) {
    const auto resolved = document_.resolved(&given);
    if (!resolved) return Verdict::unsure;
    const Json& schema = **resolved;
    if (schema.is_boolean()) return truth(schema.get<bool>());
    if (!schema.is_object() || depth == kMaxCheckDepth || !document_.budget().take(schema.size() + 1)) {
        return Verdict::unsure;
    }
    if (value.is_null() && is_nullable_choice(schema)) return Verdict::yes;
    if (const auto type = schema.find("type"); type != schema.end()) {
        const auto types = document_.types_named(*type, schema);
        if (!types) return Verdict::unsure;
        const bool or_null = chat::member(schema, "nullable") == Json(true) && value.is_null();
        if (!or_null && (*types & SchemaDocument::type_of(value)) == 0) return Verdict::no;
    }
    if (const auto expected = schema.find("const"); expected != schema.end() && !same_json(*expected, value)) {
        return Verdict::no;
    }
    if (const Json& list = chat::member(schema, "enum"); list.is_array()) {
        if (!document_.budget().take(list.size())) return Verdict::unsure;
        if (std::ranges::none_of(list, [&](const Json& one) { return same_json(one, value); })) return Verdict::no;
    }
    Verdict out = Verdict::yes;
    if (value.is_string()) out = check_text(value, schema);
    if (value.is_number()) out = check_number(value, schema);
    if (value.is_array()) out = check_array(value, schema, depth);
    if (value.is_object()) out = check_object(value, schema, depth);
    return out == Verdict::no ? out : both(out, check_combined(value, schema, depth));
}

Verdict SchemaCheck::check_combined(const Json& value, const Json& schema, int depth) {
    Verdict out = Verdict::yes;
    for (const auto& [keyword, inner] : schema.items()) {
        if (out == Verdict::no) break;
        if (keyword == "$ref") {
            const auto target = document_.find(chat::string_of(inner));
            out = both(out, target ? check(value, **target, depth + 1) : Verdict::unsure);
        } else if (keyword == "not") {
            out = both(out, opposite(check(value, inner, depth + 1)));
        } else if (keyword == "if" && document_.has_conditions()) {
            const Verdict holds = check(value, inner, depth + 1);
            if (holds == Verdict::unsure) return holds;
            const char* then = holds == Verdict::yes ? "then" : "else";
            if (schema.contains(then)) out = both(out, check(value, schema[then], depth + 1));
        } else if (keyword == "allOf" && inner.is_array()) {
            for (const Json& one : inner) out = both(out, check(value, one, depth + 1));
        } else if ((keyword == "anyOf" || keyword == "oneOf") && inner.is_array()) {
            size_t holding = 0;
            size_t unsure = 0;
            for (const Json& one : inner) {
                const Verdict verdict = check(value, one, depth + 1);
                holding += verdict == Verdict::yes ? 1 : 0;
                unsure += verdict == Verdict::unsure ? 1 : 0;
                if (holding > 0 && keyword == "anyOf") break;
            }
            const bool one_of = keyword == "oneOf";
            const Verdict known = truth(one_of ? holding == 1 : holding > 0);
            const bool settled = one_of ? unsure == 0 || holding > 1 : unsure == 0 || holding > 0;
            out = both(out, settled ? known : Verdict::unsure);
        } else if (keyword == "$dynamicRef" || keyword == "$recursiveRef" || keyword == "unevaluatedProperties" ||
                   keyword == "unevaluatedItems" || limits_elsewhere(keyword, inner)) {
            out = both(out, Verdict::unsure);
        }
    }
    return out;
}

Verdict SchemaCheck::check_text(const Json& value, const Json& schema) const {
    const std::string_view text = chat::string_of(value);
    const auto length = double(characters_of(text).size());
    Verdict out = Verdict::yes;
    for (const auto& [keyword, inner] : schema.items()) {
        if (keyword == "minLength" && inner.is_number() && length < inner.get<double>()) return Verdict::no;
        if (keyword == "maxLength" && inner.is_number() && length > inner.get<double>()) return Verdict::no;
        if (keyword == "pattern") {
            const auto& pattern = document_.pattern(chat::string_of(inner));
            if (!pattern) {
                out = Verdict::unsure;
            } else if (!pattern->language.has(text)) {
                if (pattern->exact) return Verdict::no;
                out = Verdict::unsure;
            }
        }
        if (keyword == "format") {
            const TextFormat* format = find_text_format(chat::string_of(inner));
            if (format == nullptr || document_.inner(*format).has(text)) continue;
            if (!document_.outer(*format).has(text)) return Verdict::no;
            out = Verdict::unsure;
        }
    }
    return out;
}

Verdict SchemaCheck::check_number(const Json& value, const Json& schema) {
    const auto number = decimal_bound(value);
    if (!number) return Verdict::unsure;
    Verdict out = Verdict::yes;
    for (const auto& [keyword, inner] : schema.items()) {
        const bool minimum = keyword == "minimum" || keyword == "exclusiveMinimum";
        const bool maximum = keyword == "maximum" || keyword == "exclusiveMaximum";
        const bool multiple = keyword == "multipleOf" || keyword == "divisibleBy";
        if ((!minimum && !maximum && !multiple) || !inner.is_number()) continue;
        const auto bound = decimal_bound(inner);
        if (!bound || (multiple && bound->is_zero())) {
            out = Verdict::unsure;
            continue;
        }
        if (multiple) {
            if (!is_multiple(*number, *bound)) return Verdict::no;
            continue;
        }
        const int order = minimum ? compare(*number, *bound) : compare(*bound, *number);
        const char* exclusive = minimum ? "exclusiveMinimum" : "exclusiveMaximum";
        const bool excluded = keyword[0] == 'e' || chat::member(schema, exclusive) == Json(true);
        if (order < 0 || (order == 0 && excluded)) return Verdict::no;
    }
    return out;
}

Verdict SchemaCheck::check_array(const Json& value, const Json& schema, int depth) {
    const auto size = double(value.size());
    const auto number = [&](const char* keyword, double other) {
        const Json& given = chat::member(schema, keyword);
        return given.is_number() ? given.get<double>() : other;
    };
    if (size < number("minItems", 0) || size > number("maxItems", size)) return Verdict::no;
    const Json& items = chat::member(schema, "items");
    const Json& first = items.is_array() ? items : chat::member(schema, "prefixItems");
    const char* rest = items.is_array() ? "additionalItems" : "items";
    Verdict out = Verdict::yes;
    for (size_t i = 0; i < value.size() && out != Verdict::no; ++i) {
        if (first.is_array() && i < first.size()) {
            out = both(out, check(value[i], first[i], depth + 1));
        } else if (schema.contains(rest)) {
            out = both(out, check(value[i], schema[rest], depth + 1));
        }
    }
    if (chat::member(schema, "uniqueItems") == Json(true)) {
        if (!document_.budget().take(value.size() * value.size())) return Verdict::unsure;
        for (size_t i = 0; i < value.size(); ++i) {
            for (size_t k = i + 1; k < value.size(); ++k) {
                if (same_json(value[i], value[k])) return Verdict::no;
            }
        }
    }
    if (schema.contains("contains")) {
        double holding = 0;
        for (const Json& item : value) {
            const Verdict verdict = check(item, schema["contains"], depth + 1);
            if (verdict == Verdict::unsure) return verdict;
            holding += verdict == Verdict::yes ? 1 : 0;
        }
        if (holding < number("minContains", 1) || holding > number("maxContains", size)) return Verdict::no;
    }
    return out;
}

Verdict SchemaCheck::check_object(const Json& value, const Json& schema, int depth) {
    const auto size = double(value.size());
    const auto number = [&](const char* keyword, double other) {
        const Json& given = chat::member(schema, keyword);
        return given.is_number() ? given.get<double>() : other;
    };
    if (size < number("minProperties", 0) || size > number("maxProperties", size)) return Verdict::no;
    const auto lists_missing = [&](const Json& names) {
        return names.is_array() && std::ranges::any_of(names, [&](const Json& name) {
                   return name.is_string() && !value.contains(name.get<std::string>());
               });
    };
    if (lists_missing(chat::member(schema, "required"))) return Verdict::no;
    Verdict out = Verdict::yes;
    for (const char* keyword : {"dependencies", "dependentRequired", "dependentSchemas"}) {
        for (const auto& [name, inner] : chat::member(schema, keyword).items()) {
            if (!value.contains(name)) continue;
            if (lists_missing(inner) || (inner.is_string() && !value.contains(inner.get<std::string>())))
                return Verdict::no;
            if (inner.is_object() || inner.is_boolean()) out = both(out, check(value, inner, depth + 1));
        }
    }
    const Json& properties = chat::member(schema, "properties");
    const Json& patterns = chat::member(schema, "patternProperties");
    for (const auto& [name, inner] : value.items()) {
        if (out == Verdict::no) return out;
        bool declared = false;
        if (properties.is_object() && properties.contains(name)) {
            declared = true;
            out = both(out, check(inner, properties[name], depth + 1));
        }
        if (patterns.is_object()) {
            for (const auto& [pattern, limit] : patterns.items()) {
                const auto& known = document_.pattern(pattern);
                if (!known) return Verdict::unsure;
                if (known->language.has(name)) {
                    declared = true;
                    out = both(out, check(inner, limit, depth + 1));
                } else if (!known->exact) {
                    return Verdict::unsure;
                }
            }
        }
        if (!declared && schema.contains("additionalProperties")) {
            out = both(out, check(inner, schema["additionalProperties"], depth + 1));
        }
        if (schema.contains("propertyNames")) out = both(out, check(Json(name), schema["propertyNames"], depth + 1));
    }
    return out;
}

}  // namespace lapidary::grammar
