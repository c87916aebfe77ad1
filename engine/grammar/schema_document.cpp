#include "grammar/schema_document.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

namespace lapidary::grammar {
namespace {

constexpr int kMaxHops = 64;
constexpr int kMaxDepth = 72;

struct TypeWord {
    std::string_view word;
    uint8_t types;
};
constexpr auto kTypeWords = std::to_array<TypeWord>({{"object", kObject},
                                                     {"array", kArray},
                                                     {"string", kString},
                                                     {"number", kWhole | kFractional},
                                                     {"integer", kWhole},
                                                     {"boolean", kBoolean},
                                                     {"null", kNull},
                                                     {"any", kAllTypes}});

constexpr auto kCombining = std::to_array<const char*>({"$ref", "allOf", "anyOf", "oneOf"});
// Where schemas lie in a schema: members of these are schemas, and these are schemas, or lists of them.
constexpr auto kNamed = std::to_array<std::string_view>(
    {"$defs", "definitions", "properties", "patternProperties", "dependentSchemas", "dependencies"});
constexpr auto kInner = std::to_array<std::string_view>(
    {"allOf", "anyOf", "oneOf", "not", "if", "then", "else", "items", "prefixItems", "additionalItems", "contains",
     "additionalProperties", "propertyNames", "unevaluatedItems", "unevaluatedProperties"});
// Keywords that say something about a value without limiting it may stand beside a reference.
constexpr auto kNotes = std::to_array<std::string_view>({"title", "description", "default", "example", "examples",
                                                         "$schema", "$comment", "deprecated", "readOnly", "writeOnly"});

// Drafts that do not know if, then and else.
constexpr auto kUnconditionalDrafts = std::to_array<std::string_view>({"draft-03", "draft-04", "draft-06"});

constexpr auto kReferringDrafts = std::to_array<std::string_view>({"draft-03", "draft-04", "draft-06", "draft-07"});

std::string decoded(std::string_view fragment) {
    std::string out;
    for (size_t i = 0; i < fragment.size(); ++i) {
        if (fragment[i] == '%' && i + 2 < fragment.size()) {
            char* end = nullptr;
            const std::string hex(fragment.substr(i + 1, 2));
            const long value = std::strtol(hex.c_str(), &end, 16);
            if (end == hex.c_str() + 2) {
                out += char(value);
                i += 2;
                continue;
            }
        }
        out += fragment[i];
    }
    return out;
}

std::string_view without_fragment(std::string_view uri) {
    return uri.substr(0, uri.find('#'));
}

// A relative reference, put in the place of the base's last step.
std::string joined_uri(std::string_view base, std::string_view reference) {
    if (reference.find("://") != std::string_view::npos || reference.starts_with("urn:")) return std::string(reference);
    const size_t scheme = base.find("://");
    const size_t host_end = scheme == std::string_view::npos ? 0 : base.find('/', scheme + 3);
    if (reference.starts_with('/')) return std::string(base.substr(0, host_end)) + std::string(reference);
    const size_t slash = base.rfind('/');
    const bool keep = slash != std::string_view::npos && (scheme == std::string_view::npos || slash > scheme + 2);
    return std::string(keep ? base.substr(0, slash + 1) : "") + std::string(reference);
}

}  // namespace

SchemaDocument::SchemaDocument(const Json& root, Budget& budget) : root_(root), budget_(budget) {
    const std::string_view draft = chat::string_of(chat::member(root, "$schema"));
    const auto is_of = [&](const auto& drafts) {
        return std::ranges::any_of(drafts, [&](std::string_view name) { return draft.contains(name); });
    };
    only_refers_ = is_of(kReferringDrafts);
    has_conditions_ = !is_of(kUnconditionalDrafts);
    for (const char* keyword : {"$id", "id"}) {
        if (base_.empty()) base_ = without_fragment(chat::string_of(chat::member(root, keyword)));
    }
    std::vector<Embedded> embedded;
    collect_ids(root, base_, embedded, 0);
    for (const Embedded& one : embedded) {
        if (!budget_.take(16)) return;
        // What leads nowhere there is taken for a reference of the whole, as most programs do.
        const Json* there = look_up(one.base, one.reference);
        if (there != nullptr && there != look_up(base_, one.reference)) ambiguous_.insert(one.reference);
    }
}

// `around`: the $id of what the schema lies in.
void SchemaDocument::collect_ids(const Json& schema, const std::string& around, std::vector<Embedded>& embedded,
                                 int depth) {
    if (!schema.is_object() || depth == kMaxDepth || !budget_.take()) return;
    std::string base = around;
    for (const char* keyword : {"$id", "id"}) {
        const std::string_view id = chat::string_of(chat::member(schema, keyword));
        if (id.empty() || id.starts_with('#') || &schema == &root_) continue;
        base = joined_uri(around, without_fragment(id));
        one_resource_ = false;
        ids_.try_emplace(base, &schema);
    }
    for (const auto& [keyword, value] : schema.items()) {
        const std::string_view text = chat::string_of(value);
        if (keyword == "$anchor" || keyword == "$dynamicAnchor") {
            ids_.try_emplace(base + "#" + std::string(text), &schema);
        } else if ((keyword == "$id" || keyword == "id") && text.starts_with('#')) {
            ids_.try_emplace(base + std::string(text), &schema);
        } else if (keyword == "$ref" && base != base_) {
            embedded.push_back({base, text});
        } else {
            collect_ids_in(keyword, value, base, embedded, depth + 1);
        }
    }
}

void SchemaDocument::collect_ids_in(std::string_view keyword, const Json& value, const std::string& base,
                                    std::vector<Embedded>& embedded, int depth) {
    const bool named = std::ranges::find(kNamed, keyword) != kNamed.end();
    if (!named && std::ranges::find(kInner, keyword) == kInner.end()) return;
    if (value.is_object() && !named) return collect_ids(value, base, embedded, depth);
    if (value.is_object() || (value.is_array() && !named)) {
        for (const Json& inner : value) collect_ids(inner, base, embedded, depth);
    }
}

const Json* SchemaDocument::at_pointer(const Json& from, std::string_view pointer) const {
    const Json* at = &from;
    while (!pointer.empty()) {
        if (pointer[0] != '/') return nullptr;
        pointer.remove_prefix(1);
        std::string step;
        for (; !pointer.empty() && pointer[0] != '/'; pointer.remove_prefix(1)) {
            const bool escaped = pointer[0] == '~' && pointer.size() > 1 && (pointer[1] == '0' || pointer[1] == '1');
            step += !escaped ? pointer[0] : pointer[1] == '0' ? '~' : '/';
            if (escaped) pointer.remove_prefix(1);
        }
        if (at->is_object()) {
            const auto found = at->find(step);
            if (found == at->end()) return nullptr;
            at = &*found;
        } else if (at->is_array()) {
            const bool number = !step.empty() && step.size() < 6 &&
                                std::ranges::all_of(step, [](char c) { return c >= '0' && c <= '9'; });
            const size_t index = number ? size_t(std::strtoul(step.c_str(), nullptr, 10)) : at->size();
            if (index >= at->size()) return nullptr;
            at = &(*at)[index];
        } else {
            return nullptr;
        }
    }
    return at;
}

const Json* SchemaDocument::look_up(std::string_view base, std::string_view reference) const {
    const std::string_view uri = without_fragment(reference);
    const std::string fragment =
        uri.size() < reference.size() ? decoded(reference.substr(uri.size() + 1)) : std::string();
    const std::string resource = uri.empty() ? std::string(base) : joined_uri(base, uri);
    if (!fragment.empty() && !fragment.starts_with('/')) {
        const auto known = ids_.find(resource + "#" + fragment);
        return known == ids_.end() ? nullptr : known->second;
    }
    const auto known = ids_.find(resource);
    const Json* found = resource == base_ ? &root_ : known == ids_.end() ? nullptr : known->second;
    return found == nullptr || fragment.empty() ? found : at_pointer(*found, fragment);
}

Result<const Json*> SchemaDocument::find(std::string_view reference) const {
    if (!budget_.take(16)) return too_much_work();
    if (ambiguous_.contains(reference)) {
        return fail(Code::invalid_argument,
                    "the schema refers to '{}' from a part that has an $id of its own and means something else by it, "
                    "which is not supported",
                    printable(reference));
    }
    if (const Json* found = look_up(base_, reference); found != nullptr) return found;
    return fail(Code::invalid_argument,
                "the schema refers to '{}', which is not in it; references look like #/$defs/name",
                printable(reference));
}

Result<const Json*> SchemaDocument::resolved(const Json* schema) const {
    for (int hop = 0; hop < kMaxHops; ++hop) {
        const Json& reference = chat::member(*schema, "$ref");
        if (!reference.is_string()) return schema;
        for (const auto& [keyword, ignored] : schema->items()) {
            const bool note = std::ranges::find(kNotes, keyword) != kNotes.end();
            // `nullable` is of no draft: whoever writes it means it.
            const bool says = only_refers_ ? keyword == "nullable" : !note;
            if (keyword != "$ref" && says) return schema;
        }
        schema = TRY(find(chat::string_of(reference)));
    }
    return schema;
}

std::string SchemaDocument::path_of(const Json* schema) const {
    std::string path = "#";
    size_t looked_at = 0;
    const auto look = [&](auto&& self, const Json& at, int depth) -> bool {
        if (&at == schema) return true;
        if (depth == kMaxDepth || ++looked_at > 100'000) return false;
        const size_t size = path.size();
        if (at.is_object()) {
            for (const auto& [name, inner] : at.items()) {
                path += "/" + name;
                if (self(self, inner, depth + 1)) return true;
                path.resize(size);
            }
        } else if (at.is_array()) {
            for (size_t i = 0; i < at.size(); ++i) {
                path += "/" + std::to_string(i);
                if (self(self, at[i], depth + 1)) return true;
                path.resize(size);
            }
        }
        return false;
    };
    return look(look, root_, 0) ? path : "#";
}

Result<uint8_t> SchemaDocument::types_named(const Json& type, const Json& schema) const {
    const auto one = [&](const Json& word) -> Result<uint8_t> {
        const auto found = std::ranges::find(kTypeWords, chat::string_of(word), &TypeWord::word);
        if (found == kTypeWords.end()) {
            return fail(Code::invalid_argument, "'{}' of the schema at {} is not a type of JSON",
                        printable(chat::json_text(word)), printable(path_of(&schema), 200));
        }
        return found->types;
    };
    if (!type.is_array()) return one(type);
    uint8_t types = 0;
    for (const Json& word : type) types |= TRY(one(word));
    if (types == 0) return wrong(schema, "type", "must name a type");
    return types;
}

uint8_t SchemaDocument::type_of(const Json& value) {
    if (value.is_null()) return kNull;
    if (value.is_boolean()) return kBoolean;
    if (value.is_string()) return kString;
    if (value.is_array()) return kArray;
    if (value.is_object()) return kObject;
    if (value.is_number_float()) {
        const double number = value.get<double>();
        return number == std::floor(number) ? kWhole : kFractional;
    }
    return kWhole;
}

const Result<Pattern>& SchemaDocument::pattern(std::string_view text) const {
    const auto known = patterns_.find(text);
    if (known != patterns_.end()) return known->second;
    return patterns_.emplace(std::string(text), read_pattern(text, budget_)).first->second;
}

const Language& SchemaDocument::inner(const TextFormat& format) const {
    static const Language nothing = Language::nothing();
    const auto& pattern = this->pattern(format.inner);
    return pattern ? pattern->language : nothing;
}

const Language& SchemaDocument::outer(const TextFormat& format) const {
    static const Language anything = Language::anything();
    const auto& pattern = this->pattern(format.outer);
    return pattern ? pattern->language : anything;
}

bool is_nullable_choice(const Json& schema) {
    return chat::member(schema, "nullable") == Json(true) && !schema.contains("type") &&
           std::ranges::any_of(kCombining, [&](const char* keyword) { return schema.contains(keyword); });
}

bool limits_elsewhere(std::string_view keyword, const Json& value) {
    if (keyword == "disallow") return !value.is_object();
    return value.is_structured() && (keyword == "extends" || keyword == "propertyDependencies");
}

bool same_json(const Json& a, const Json& b) {
    if (a.is_object() && b.is_object()) {
        if (a.size() != b.size()) return false;
        for (const auto& [name, value] : a.items()) {
            const auto found = b.find(name);
            if (found == b.end() || !same_json(value, *found)) return false;
        }
        return true;
    }
    if (a.is_array() && b.is_array()) {
        return std::ranges::equal(a, b, [](const Json& x, const Json& y) { return same_json(x, y); });
    }
    return a == b;
}

}  // namespace lapidary::grammar
