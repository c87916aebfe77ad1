#include "chat/tools.h"

#include "chat/markers.h"
#include "chat/text.h"
#include "chat/value_syntax.h"

namespace lapidary::chat {
namespace {

constexpr size_t kMaxSchemaDepth = kMaxJsonDepth + 8;

// Writes the commas between those members that turn out to be there.
class Members {
  public:
    explicit Members(PieceWriter& out) : out_(out) {}
    // "key:", after a comma if this is not the first member.
    void begin(std::string_view key) {
        if (!first_) out_.trusted(",");
        first_ = false;
        out_.untrusted(key);
        out_.trusted(":");
    }

  private:
    PieceWriter& out_;
    bool first_ = true;
};

// What Python considers true: a schema's "description": "" counts as none.
bool truthy(const Json& value) {
    if (value.is_null()) return false;
    if (value.is_boolean()) return value.get<bool>();
    if (value.is_number()) return value != 0;
    if (value.is_string()) return !string_of(value).empty();
    return !value.empty();
}

// A value as Python prints it. A union of types reaches the model as "['STRING', 'NULL']", list syntax and all,
// because that is what the template it was trained with does.
std::string python_text(const Json& value, bool nested = false) {
    if (value.is_string()) return nested ? "'" + std::string(string_of(value)) + "'" : std::string(string_of(value));
    if (value.is_null()) return nested ? "None" : "";
    if (value.is_boolean()) return value.get<bool>() ? "True" : "False";
    if (value.is_number()) return number_text(value);
    if (!value.is_array()) return json_text(value);
    std::string out = "[";
    for (size_t i = 0; i < value.size(); ++i) {
        if (i > 0) out += ", ";
        out += value[i].is_array() ? json_text(value[i]) : python_text(value[i], true);
    }
    return out + "]";
}

std::string type_text(const Json& type) {
    return ascii_upper(python_text(type));
}

void write_names(PieceWriter& out, const Json& names) {
    out.trusted("[");
    if (names.is_array()) {
        for (size_t i = 0; i < names.size(); ++i) {
            if (i > 0) out.trusted(",");
            write_string(out, python_text(names[i]));
        }
    }
    out.trusted("]");
}

void write_properties(PieceWriter& out, const Json& properties, bool skip_keywords, size_t depth);

void write_items(PieceWriter& out, const Json& items, size_t depth) {
    Members members(out);
    out.trusted("{");
    for (const auto& [key, value] : sorted_members(items)) {
        if (value->is_null()) continue;
        members.begin(key);
        if (key == "properties") {
            out.trusted("{");
            write_properties(out, *value, false, depth);
            out.trusted("}");
        } else if (key == "required") {
            write_names(out, *value);
        } else if (key == "type" && value->is_array()) {
            Json types = Json::array();
            for (const Json& type : *value) types.push_back(type_text(type));
            write_value(out, types, KeyStyle::quoted);
        } else if (key == "type") {
            write_string(out, type_text(*value));
        } else {
            write_value(out, *value, KeyStyle::quoted);
        }
    }
    out.trusted("}");
}

// The schema of one property, braces included.
void write_property(PieceWriter& out, const Json& schema, size_t depth) {
    Members members(out);
    const std::string type = type_text(member(schema, "type"));
    out.trusted("{");
    if (const Json& description = member(schema, "description"); truthy(description)) {
        members.begin("description");
        write_string(out, python_text(description));
    }
    if (const Json& choices = member(schema, "enum"); type == "STRING" && truthy(choices)) {
        members.begin("enum");
        write_value(out, choices, KeyStyle::quoted);
    }
    if (const Json& items = member(schema, "items"); type == "ARRAY" && items.is_object() && !items.empty()) {
        members.begin("items");
        write_items(out, items, depth);
    }
    if (truthy(member(schema, "nullable"))) {
        members.begin("nullable");
        out.trusted("true");
    }
    if (type == "OBJECT") {
        const Json& properties = member(schema, "properties");
        members.begin("properties");
        out.trusted("{");
        // An object that does not list its properties shows its other members in their place: the template's way.
        write_properties(out, properties.is_object() ? properties : schema, !properties.is_object(), depth);
        out.trusted("}");
        if (const Json& required = member(schema, "required"); required.is_array() && !required.empty()) {
            members.begin("required");
            write_names(out, required);
        }
    }
    members.begin("type");
    write_string(out, type);
    out.trusted("}");
}

void write_properties(PieceWriter& out, const Json& properties, bool skip_keywords, size_t depth) {
    if (depth == kMaxSchemaDepth) return;
    Members members(out);
    for (const auto& [key, schema] : sorted_members(properties)) {
        const bool keyword =
            key == "description" || key == "type" || key == "properties" || key == "required" || key == "nullable";
        if (skip_keywords && keyword) continue;
        members.begin(key);
        write_property(out, *schema, depth + 1);
    }
}

void write_parameters(PieceWriter& out, const Json& parameters) {
    Members members(out);
    out.trusted("{");
    if (const Json& properties = member(parameters, "properties"); properties.is_object() && !properties.empty()) {
        members.begin("properties");
        out.trusted("{");
        write_properties(out, properties, false, 0);
        out.trusted("}");
    }
    if (const Json& required = member(parameters, "required"); required.is_array() && !required.empty()) {
        members.begin("required");
        write_names(out, required);
    }
    if (const Json& type = member(parameters, "type"); truthy(type)) {
        members.begin("type");
        write_string(out, type_text(type));
    }
    out.trusted("}");
}

void write_response(PieceWriter& out, const Json& response) {
    Members members(out);
    out.trusted("{");
    if (const Json& description = member(response, "description"); truthy(description)) {
        members.begin("description");
        write_string(out, python_text(description));
    }
    if (const std::string type = type_text(member(response, "type")); type == "OBJECT") {
        members.begin("type");
        write_string(out, type);
    }
    out.trusted("}");
}

}  // namespace

void write_tool(PieceWriter& out, const Tool& tool) {
    out.trusted(kToolOpen);
    out.trusted("declaration:");
    out.untrusted(tool.name);
    out.trusted("{");
    Members members(out);
    members.begin("description");
    write_string(out, tool.description);
    if (truthy(tool.parameters)) {
        members.begin("parameters");
        write_parameters(out, tool.parameters);
    }
    if (truthy(tool.response)) {
        members.begin("response");
        write_response(out, tool.response);
    }
    out.trusted("}");
    out.trusted(kToolClose);
}

}  // namespace lapidary::chat
