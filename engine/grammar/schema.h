// From a JSON schema to the program that reads exactly the JSON we are willing to let a model write for it.
//
// What the program accepts always satisfies the schema. It may be less than the schema allows: properties come in
// the order they are declared, an object with declared properties has others only if additionalProperties asks for
// them, a tuple ends where prefixItems ends, numbers have at most 15 digits.
#pragma once

#include <memory>

#include "chat/json.h"
#include "grammar/program.h"

namespace lapidary::grammar {

using chat::Json;

// Supported: type (one or several), properties, required, additionalProperties, items, prefixItems, minItems, maxItems,
// minLength, maxLength, pattern, format, minimum, maximum, exclusiveMinimum, exclusiveMaximum, enum, const, anyOf,
// oneOf (of alternatives that cannot both hold), allOf of one, $ref within the schema, $defs, definitions, and
// annotations. Any other keyword is refused by name.
Result<std::shared_ptr<const Program>> compile_schema(const Json& schema);

// Any JSON object.
Result<std::shared_ptr<const Program>> compile_json_object();

// OpenAI's `response_format`: null and {type: "text"} give no program, {type: "json_object"} and
// {type: "json_schema", json_schema: {schema}} one.
Result<std::shared_ptr<const Program>> compile_response_format(const Json& format);

}  // namespace lapidary::grammar
