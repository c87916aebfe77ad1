// A JSON schema as a document: where references lead, where a schema stands, and what its patterns mean.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "chat/json.h"
#include "grammar/budget.h"
#include "grammar/pattern.h"
#include "grammar/text_formats.h"

namespace lapidary::grammar {

using chat::Json;

// The types of JSON, with whole numbers and others apart.
enum : uint8_t {
    kNull = 1,
    kBoolean = 2,
    kWhole = 4,
    kFractional = 8,
    kString = 16,
    kArray = 32,
    kObject = 64,
    kAllTypes = 127,
};

class SchemaDocument {
  public:
    SchemaDocument(const Json& root, Budget& budget);
    [[nodiscard]] const Json& root() const { return root_; }
    [[nodiscard]] Budget& budget() const { return budget_; }

    // What "#/$defs/name", "#anchor" or the $id of a part points to.
    [[nodiscard]] Result<const Json*> find(std::string_view reference) const;
    // The schema itself, or what it does nothing but refer to.
    [[nodiscard]] Result<const Json*> resolved(const Json* schema) const;
    // Where a schema stands, for people: "#/properties/name".
    [[nodiscard]] std::string path_of(const Json* schema) const;

    // The types named by the keyword `type`.
    Result<uint8_t> types_named(const Json& type, const Json& schema) const;
    static uint8_t type_of(const Json& value);

    const Result<Pattern>& pattern(std::string_view text) const;
    // The languages of a format (grammar/text_formats.h).
    const Language& inner(const TextFormat& format) const;
    const Language& outer(const TextFormat& format) const;

    // An error about a keyword of a schema.
    template <class... Args>
    [[nodiscard]] Failed wrong(const Json& schema, std::string_view keyword, std::string_view what) const {
        return fail(Code::invalid_argument, "'{}' of the schema at {} {}", printable(keyword),
                    printable(path_of(&schema), 200), what);
    }

    // No part of it has an $id of its own.
    [[nodiscard]] bool is_one_resource() const { return one_resource_; }
    // It names a draft up to 7, in which what stands beside a $ref says nothing.
    [[nodiscard]] bool only_refers() const { return only_refers_; }

    // It does not name a draft up to 6, in which if, then and else say nothing.
    [[nodiscard]] bool has_conditions() const { return has_conditions_; }

  private:
    // A reference in a part that has an $id of its own, and that $id.
    struct Embedded {
        std::string base;
        std::string_view reference;
    };
    void collect_ids(const Json& schema, const std::string& around, std::vector<Embedded>& embedded, int depth);
    void collect_ids_in(std::string_view keyword, const Json& value, const std::string& base,
                        std::vector<Embedded>& embedded, int depth);
    [[nodiscard]] const Json* at_pointer(const Json& from, std::string_view pointer) const;
    [[nodiscard]] const Json* look_up(std::string_view base, std::string_view reference) const;

    const Json& root_;
    Budget& budget_;
    std::string base_;
    bool one_resource_ = true;
    bool only_refers_ = false;
    bool has_conditions_ = true;
    std::map<std::string, const Json*, std::less<>> ids_;
    std::set<std::string_view> ambiguous_;  // references that mean one thing here and another there
    mutable std::map<std::string, Result<Pattern>, std::less<>> patterns_;
};

// Whether it combines schemas and is `nullable`, as OpenAPI 3.0 says that null will do as well.
bool is_nullable_choice(const Json& schema);

// Whether it is a keyword of another draft, which would limit a value there. As a text it is somebody's note.
bool limits_elsewhere(std::string_view keyword, const Json& value);

// Whether two values are the same JSON: members in any order, 1 is 1.0.
bool same_json(const Json& a, const Json& b);

}  // namespace lapidary::grammar
