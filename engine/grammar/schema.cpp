#include "grammar/schema.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <unordered_map>

#include "chat/text.h"
#include "grammar/json_rules.h"
#include "grammar/number_range.h"
#include "grammar/other_name.h"
#include "grammar/pattern.h"
#include "grammar/schema_document.h"

namespace lapidary::grammar {
namespace {

constexpr size_t kMaxEnum = 2000;
constexpr uint64_t kMaxCount = 1 << 20;  // of items and characters
constexpr int kMaxDepth = 72;            // a schema inside a schema; JSON itself is bounded to 64

// Say something about a value without limiting it.
constexpr auto kAnnotations =
    std::to_array<std::string_view>({"title", "description", "default", "example", "examples", "$schema", "$id",
                                     "$comment", "deprecated", "readOnly", "writeOnly", "$defs", "definitions"});
constexpr auto kKeywords = std::to_array<std::string_view>(
    {"type", "properties", "required", "additionalProperties", "items", "prefixItems", "minItems", "maxItems",
     "minLength", "maxLength", "pattern", "format", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"});
// Numbers are written the same way whatever their width.
constexpr auto kNumberFormats = std::to_array<std::string_view>({"int32", "int64", "float", "double"});

template <size_t N>
bool contains(const std::array<std::string_view, N>& list, std::string_view word) {
    return std::ranges::find(list, word) != list.end();
}

class SchemaCompiler {
  public:
    SchemaCompiler(const Json& root, ProgramBuilder& builder, JsonRules& rules)
        : document_(root), b_(builder), rules_(rules) {}

    // What the whole schema describes; ends in finish().
    Result<NodeId> run() { return value(document_.root(), "#", 0); }

  private:
    static std::unexpected<Error> unsupported(std::string_view keyword, const std::string& path) {
        return fail(Code::invalid_argument, "the keyword '{}' of the schema at {} is not supported", printable(keyword),
                    printable(path, 200));
    }
    static std::unexpected<Error> malformed(std::string_view keyword, const std::string& path,
                                            std::string_view expected) {
        return fail(Code::invalid_argument, "'{}' of the schema at {} must be {}", keyword, printable(path, 200),
                    expected);
    }

    // Any keyword that is neither an annotation nor among `allowed` is an error.
    static Status check_keywords(const Json& schema, const std::string& path,
                                 std::initializer_list<std::string_view> allowed) {
        for (const auto& [keyword, ignored] : schema.items()) {
            if (contains(kAnnotations, keyword) || std::ranges::find(allowed, keyword) != allowed.end()) continue;
            return unsupported(keyword, path);
        }
        return {};
    }

    // The program of a schema, which ends in finish(). Made once for each, so that schemas may refer to themselves.
    Result<NodeId> value(const Json& schema, const std::string& path, int depth) {
        if (const auto known = made_.find(&schema); known != made_.end()) return known->second;
        if (depth == kMaxDepth) return fail(Code::limit, "the schema is nested deeper than {} levels", kMaxDepth);
        const NodeId promised = b_.promise();
        made_.emplace(&schema, promised);
        b_.keep(promised, TRY(body(schema, path, depth + 1)));
        return promised;
    }

    Result<NodeId> body(const Json& schema, const std::string& path, int depth) {
        if (schema.is_boolean()) return schema.get<bool>() ? rules_.any_value() : b_.nothing();
        if (!schema.is_object()) {
            return fail(Code::invalid_argument, "the schema at {} must be an object", printable(path, 200));
        }
        if (b_.full()) return b_.nothing();
        if (schema.contains("$ref")) return reference(schema, path, depth);
        if (schema.contains("const") || schema.contains("enum")) return values(schema, path);
        for (const char* keyword : {"anyOf", "oneOf", "allOf"}) {
            if (schema.contains(keyword)) return alternatives(schema, keyword, path, depth);
        }
        for (const auto& [keyword, ignored] : schema.items()) {
            if (!contains(kAnnotations, keyword) && !contains(kKeywords, keyword)) return unsupported(keyword, path);
        }
        const std::vector<Type> types = TRY(SchemaDocument::types(schema));
        const bool of_text = std::ranges::find(types, Type::string) != types.end();
        if (schema.contains("format") && !of_text && !contains(kNumberFormats, chat::string_of(schema["format"]))) {
            return unsupported("format", path);
        }
        std::vector<NodeId> ways;
        for (const Type type : types) ways.push_back(TRY(typed(schema, type, path, depth)));
        return ways.size() == 1 ? ways[0] : b_.choice(ways);
    }

    Result<NodeId> reference(const Json& schema, const std::string& path, int depth) {
        TRY(check_keywords(schema, path, {"$ref"}));
        const Json& reference = schema["$ref"];
        if (!reference.is_string()) return malformed("$ref", path, "a text");
        const Json* target = TRY(document_.find(chat::string_of(reference)));
        return value(*target, std::string(chat::string_of(reference)), depth);
    }

    Result<NodeId> values(const Json& schema, const std::string& path) {
        TRY(check_keywords(schema, path, {"const", "enum", "type"}));
        if (schema.contains("const") && schema.contains("enum")) return unsupported("enum", path);
        const Json list = schema.contains("const") ? Json::array({schema["const"]}) : schema["enum"];
        if (!list.is_array() || list.empty()) return malformed("enum", path, "a list of at least one value");
        if (list.size() > kMaxEnum) {
            return fail(Code::limit, "'enum' at {} has {} values; at most {} are accepted", printable(path, 200),
                        list.size(), kMaxEnum);
        }
        const bool typed = schema.contains("type");
        const auto types = TRY(SchemaDocument::types(schema));
        std::vector<std::string> texts;
        for (const Json& value : list) {
            const auto fits = [&](Type type) { return SchemaDocument::has_type(value, type); };
            if (!typed || std::ranges::any_of(types, fits)) texts.push_back(rules_.text_of(value));
        }
        return b_.any_of(std::move(texts), ProgramBuilder::finish());
    }

    Result<NodeId> alternatives(const Json& schema, const char* keyword, const std::string& path, int depth) {
        TRY(check_keywords(schema, path, {keyword}));
        const Json& list = schema[keyword];
        if (!list.is_array() || list.empty()) return malformed(keyword, path, "a list of at least one schema");
        const std::string_view word = keyword;
        if (word == "allOf" && list.size() > 1) return unsupported(keyword, path);
        if (word == "oneOf") TRY(check_exclusive(list, path));
        std::vector<NodeId> ways;
        for (size_t i = 0; i < list.size(); ++i) {
            ways.push_back(TRY(value(list[i], format("{}/{}/{}", path, word, i), depth)));
        }
        return b_.choice(ways);
    }

    // oneOf means exactly one: the alternatives must not overlap, or a value could satisfy two.
    Status check_exclusive(const Json& list, const std::string& path) const {
        constexpr size_t kMaxAlternatives = 256;
        if (list.size() > kMaxAlternatives) {
            return fail(Code::limit, "'oneOf' at {} has {} alternatives; at most {} are accepted", printable(path, 200),
                        list.size(), kMaxAlternatives);
        }
        for (size_t i = 0; i < list.size(); ++i) {
            for (size_t k = i + 1; k < list.size(); ++k) {
                if (document_.exclude_each_other(list[i], list[k])) continue;
                return fail(Code::invalid_argument,
                            "the alternatives {} and {} of 'oneOf' at {} may both hold; use anyOf, or give each a "
                            "required property with a different const",
                            i, k, printable(path, 200));
            }
        }
        return {};
    }

    Result<NodeId> typed(const Json& schema, Type type, const std::string& path, int depth) {
        const NodeId done = ProgramBuilder::finish();
        switch (type) {
            case Type::object: return object(schema, path, depth);
            case Type::array: return array(schema, path, depth);
            case Type::string: return string(schema, path);
            case Type::boolean: return rules_.boolean(done);
            case Type::null: return rules_.null(done);
            case Type::number:
            case Type::integer: return number(schema, type == Type::integer, path);
        }
        return done;
    }

    // A count such as minItems.
    static Result<uint32_t> count(const Json& schema, const char* keyword, uint32_t other, const std::string& path) {
        if (!schema.contains(keyword)) return other;
        const Json& value = schema[keyword];
        const double number = value.is_number() ? value.get<double>() : -1;
        if (!(number >= 0) || number != std::floor(number)) return malformed(keyword, path, "a whole number from 0");
        if (number > double(kMaxCount)) {
            return fail(Code::limit, "'{}' of the schema at {} is {}; at most {} is accepted", keyword,
                        printable(path, 200), number, kMaxCount);
        }
        return uint32_t(number);
    }

    Result<NodeId> string(const Json& schema, const std::string& path) {
        const NodeId done = ProgramBuilder::finish();
        const uint32_t min = TRY(count(schema, "minLength", 0, path));
        const uint32_t max = TRY(count(schema, "maxLength", kUnlimited, path));
        std::string_view pattern;
        for (const char* keyword : {"pattern", "format"}) {
            if (!schema.contains(keyword)) continue;
            if (!schema[keyword].is_string()) return malformed(keyword, path, "a text");
            const std::string_view text = chat::string_of(schema[keyword]);
            const bool is_format = std::string_view(keyword) == "format";
            if (is_format && contains(kNumberFormats, text)) continue;
            if (!pattern.empty() || min > 0 || max != kUnlimited) {
                return fail(Code::invalid_argument,
                            "'{}' of the schema at {} is not supported together with other limits of the text", keyword,
                            printable(path, 200));
            }
            pattern = is_format ? format_pattern(text) : text;
            if (is_format && pattern.empty()) {
                return fail(Code::invalid_argument, "the format '{}' of the schema at {} is not supported",
                            printable(text), printable(path, 200));
            }
        }
        if (!pattern.empty()) return pattern_string(b_, rules_, pattern, done);
        if (max < min) return b_.nothing();
        return rules_.string(min, max, done);
    }

    Result<NodeId> number(const Json& schema, bool integer, const std::string& path) {
        const NodeId done = ProgramBuilder::finish();
        NumberRange range;
        bool bounded = false;
        for (const char* keyword : {"minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum"}) {
            if (!schema.contains(keyword)) continue;
            if (!schema[keyword].is_number()) return malformed(keyword, path, "a number");
            const bool is_low = std::string_view(keyword).ends_with("inimum");
            const bool excluded = keyword[0] == 'e';
            const double bound = schema[keyword].get<double>();
            const char* other = is_low ? "minimum" : "maximum";
            if (excluded && schema.contains(other)) {
                // Both are given: the stricter one counts, and at the same number the one that excludes it.
                const double plain = schema[other].is_number() ? schema[other].get<double>() : 0;
                if (is_low ? plain > bound : plain < bound) continue;
            }
            bounded = true;
            (is_low ? range.low : range.high) = TRY(to_decimal(bound));
            (is_low ? range.low_excluded : range.high_excluded) = excluded;
        }
        if (!bounded) return integer ? rules_.integer(done) : rules_.number(done);
        return integer ? integer_between(b_, range, done) : number_between(b_, range, done);
    }

    Result<NodeId> array(const Json& schema, const std::string& path, int depth) {
        const NodeId done = ProgramBuilder::finish();
        const uint32_t min = TRY(count(schema, "minItems", 0, path));
        const uint32_t max = TRY(count(schema, "maxItems", kUnlimited, path));
        if (max < min) return b_.nothing();
        const Json& tuple = chat::member(schema, "prefixItems");
        if (!tuple.is_null() && !tuple.is_array()) return malformed("prefixItems", path, "a list of schemas");
        const bool has_items = schema.contains("items");
        if (has_items && schema["items"].is_array()) return malformed("items", path, "a schema; see prefixItems");
        const NodeId item = has_items ? TRY(value(schema["items"], path + "/items", depth)) : rules_.any_value();
        if (tuple.empty()) return rules_.array_of(item, min, max, done);

        // After the tuple: further items as `items` says; without it, only those minItems asks for.
        const auto fixed = uint32_t(std::min<size_t>(tuple.size(), max));
        const uint32_t most = has_items ? max : std::max(fixed, min);
        const NodeId close = b_.literal("]", done);
        const NodeId end = rules_.blanks(close);
        const bool all = fixed == tuple.size();
        NodeId next = !all || most == fixed ? (min > fixed ? b_.nothing() : end)
                                            : b_.loop(rules_.comma(item), end, min > fixed ? min - fixed : 0,
                                                      most == kUnlimited ? most : most - fixed);
        for (uint32_t i = fixed; i > 0; --i) {
            const NodeId element = TRY(value(tuple[i - 1], format("{}/prefixItems/{}", path, i - 1), depth));
            next = b_.call(element, next);
            if (i > 1) next = rules_.comma(next);
            if (min < i) next = b_.choice({i > 1 ? end : close, next});
        }
        return b_.literal("[", fixed == 0 ? close : rules_.blanks(next));
    }

    struct Member {
        std::string name;
        bool required = false;
        NodeId pair = 0;  // "name": value
    };

    Result<NodeId> object(const Json& schema, const std::string& path, int depth) {
        const Json& properties = chat::member(schema, "properties");
        if (!properties.is_null() && !properties.is_object()) return malformed("properties", path, "an object");
        const Json& more = chat::member(schema, "additionalProperties");
        const bool declared = properties.is_object();
        const bool open = declared ? !more.is_null() && more != Json(false) : more != Json(false);
        const NodeId other = more.is_object() ? TRY(value(more, path + "/additionalProperties", depth))
                                              : (more.is_null() || more.is_boolean() ? rules_.any_value() : 0);
        if (other == 0) return malformed("additionalProperties", path, "a schema");

        std::vector<Member> members;
        for (const auto& [name, inner] : properties.items()) {
            TRY(check_name(name, path));
            const NodeId inside = TRY(value(inner, format("{}/properties/{}", path, name), depth));
            members.push_back({name, false, pair(name, inside)});
        }
        TRY(mark_required(schema, path, more == Json(false), other, members));
        if (members.empty() && open && !more.is_object()) return rules_.any_object();

        // From the last member to the first. `rest`: a member was written, `first`: none was.
        const NodeId close = b_.literal("}", ProgramBuilder::finish());
        NodeId rest = rules_.blanks(close);
        NodeId first = close;
        // In a call nothing is added to what is declared.
        if (open && (rules_.dialect() == Dialect::json || members.empty())) {
            std::vector<std::string> names;
            for (const Member& member : members) names.push_back(member.name);
            const NodeId extra = other_name(b_, rules_, names, rules_.colon(other));
            rest = b_.loop(rules_.comma(extra), rest, 0, kUnlimited);
            first = b_.choice({first, b_.call(extra, rest)});
        }
        for (size_t i = members.size(); i > 0; --i) {
            const Member& member = members[i - 1];
            const NodeId as_first = b_.call(member.pair, rest);
            const NodeId as_next = rules_.comma(as_first);
            first = member.required ? as_first : b_.choice({as_first, first});
            rest = member.required ? as_next : b_.choice({as_next, rest});
        }
        return b_.literal("{", rules_.blanks(first));
    }

    // Names are bare in a call: those that would not be read back as they are cannot be written.
    Status check_name(const std::string& name, const std::string& path) const {
        if (name.size() > kMaxNameBytes) {
            return fail(Code::limit, "a property at {} has a name of more than {} bytes", printable(path, 200),
                        kMaxNameBytes);
        }
        const bool readable = chat::is_tool_name(name) && name.find(':') == std::string::npos;
        if (rules_.dialect() == Dialect::json || readable) return {};
        return fail(Code::invalid_argument, "the property '{}' at {} has a name that cannot be written in a call",
                    printable(name), printable(path, 200));
    }

    NodeId pair(const std::string& name, NodeId inside) { return rules_.key(name, rules_.colon(inside)); }

    // A required member that is not declared is one of the additional ones.
    Status mark_required(const Json& schema, const std::string& path, bool forbidden, NodeId other,
                         std::vector<Member>& members) {
        const Json& required = chat::member(schema, "required");
        if (required.is_null()) return {};
        if (!required.is_array()) return malformed("required", path, "a list of names");
        if (required.size() > chat::kMaxJsonMembers) {
            return fail(Code::limit, "'required' at {} has more than {} names", printable(path, 200),
                        chat::kMaxJsonMembers);
        }
        for (const Json& entry : required) {
            if (!entry.is_string()) return malformed("required", path, "a list of names");
            const std::string name = entry.get<std::string>();
            const auto found = std::ranges::find(members, name, &Member::name);
            if (found != members.end()) {
                found->required = true;
            } else if (forbidden) {
                return fail(Code::invalid_argument, "the schema at {} requires '{}' and does not allow it",
                            printable(path, 200), printable(name));
            } else {
                TRY(check_name(name, path));
                members.push_back({name, true, pair(name, other)});
            }
        }
        return {};
    }

    SchemaDocument document_;
    ProgramBuilder& b_;
    JsonRules& rules_;
    std::unordered_map<const Json*, NodeId> made_;
};

}  // namespace

Result<std::shared_ptr<const Program>> compile_schema(const Json& schema) {
    TRY(chat::check_bounds(schema, "the schema"));
    ProgramBuilder builder;
    JsonRules rules(builder);
    const NodeId start = TRY(SchemaCompiler(schema, builder, rules).run());
    return std::make_shared<const Program>(TRY(std::move(builder).build(start)));
}

Result<std::shared_ptr<const Program>> compile_calls(std::span<const chat::Tool> tools) {
    ProgramBuilder builder;
    JsonRules rules(builder, Dialect::call);
    std::vector<NodeId> calls;
    for (const chat::Tool& tool : tools) {
        TRY(chat::check_bounds(tool.parameters, "the parameters of a tool"));
        NodeId arguments = rules.any_object();
        if (!tool.parameters.is_null()) {
            // A schema that does not say so describes an object all the same.
            Json schema = tool.parameters;
            const bool unsaid = schema.is_object() && !schema.contains("type") && !schema.contains("$ref");
            if (unsaid) schema["type"] = "object";
            if (chat::string_of(chat::member(*SchemaDocument(schema).resolved(&schema), "type")) != "object") {
                return fail(Code::invalid_argument, "the parameters of the tool '{}' must be of type object",
                            printable(tool.name));
            }
            auto made = SchemaCompiler(schema, builder, rules).run();
            if (!made) {
                return fail(made.error().code, "the parameters of the tool '{}': {}", printable(tool.name),
                            made.error().message);
            }
            arguments = *made;
        }
        calls.push_back(builder.literal("call:" + tool.name, arguments));
    }
    const NodeId start = builder.choice(calls);
    return std::make_shared<const Program>(TRY(std::move(builder).build(start)));
}

Result<std::shared_ptr<const Program>> compile_json_object() {
    ProgramBuilder builder;
    const NodeId start = JsonRules(builder).any_object();
    return std::make_shared<const Program>(TRY(std::move(builder).build(start)));
}

Result<std::shared_ptr<const Program>> compile_response_format(const Json& format) {
    if (format.is_null()) return nullptr;
    const std::string_view type = chat::string_of(chat::member(format, "type"));
    if (type == "text") return nullptr;
    if (type == "json_object") return compile_json_object();
    if (type != "json_schema") {
        return fail(Code::invalid_argument,
                    "'response_format' must have a 'type' of 'text', 'json_object' or 'json_schema'");
    }
    const Json& wrapped = chat::member(format, "json_schema");
    if (!wrapped.is_object() || !wrapped.contains("schema")) {
        return fail(Code::invalid_argument, "'response_format' of type 'json_schema' must have 'json_schema.schema'");
    }
    return compile_schema(wrapped["schema"]);
}

}  // namespace lapidary::grammar
