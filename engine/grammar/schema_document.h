// A JSON schema as a document: where references lead, and which types a schema speaks of.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "chat/json.h"

namespace lapidary::grammar {

using chat::Json;

enum class Type : uint8_t { object, array, string, number, integer, boolean, null };

// The word of a schema for it, and back.
std::string_view type_name(Type type);

class SchemaDocument {
  public:
    explicit SchemaDocument(const Json& root) : root_(root) {}
    [[nodiscard]] const Json& root() const { return root_; }

    // What "#/$defs/name" points to.
    [[nodiscard]] Result<const Json*> find(std::string_view reference) const;
    // The schema itself, or what it refers to in the end: follows $ref and allOf of one.
    [[nodiscard]] const Json* resolved(const Json* schema) const;

    // The types of a schema without enum, const, $ref and alternatives: those it names, those its keywords are about,
    // or all.
    static Result<std::vector<Type>> types(const Json& schema);
    static bool has_type(const Json& value, Type type);

    // Whether nothing we write for one of them satisfies the other. False when we cannot tell.
    [[nodiscard]] bool exclude_each_other(const Json& a, const Json& b, int depth = 0) const;

  private:
    [[nodiscard]] bool objects_exclude(const Json& a, const Json& b, int depth) const;

    const Json& root_;
};

}  // namespace lapidary::grammar
