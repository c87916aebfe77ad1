// Whether a value satisfies a schema. For values the schema itself lists: what the model writes is checked while it writes.
#pragma once

#include "grammar/schema_document.h"

namespace lapidary::grammar {

enum class Verdict : uint8_t { no, yes, unsure };

class SchemaCheck {
  public:
    explicit SchemaCheck(const SchemaDocument& document) : document_(document) {}
    [[nodiscard]] Verdict check(const Json& value, const Json& schema) { return check(value, schema, 0); }

  private:
    Verdict check(const Json& value, const Json& schema, int depth);
    Verdict check_combined(const Json& value, const Json& schema, int depth);
    [[nodiscard]] Verdict check_text(const Json& value, const Json& schema) const;
    static Verdict check_number(const Json& value, const Json& schema);
    Verdict check_array(const Json& value, const Json& schema, int depth);
    Verdict check_object(const Json& value, const Json& schema, int depth);

    const SchemaDocument& document_;
};

}  // namespace lapidary::grammar
