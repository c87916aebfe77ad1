#include "api/message.h"

#include <limits>

namespace lapidary::api {
namespace {

bool is_whole(const Json& value) {
    return value.is_number_integer() &&
           !(value.is_number_unsigned() && value.get<uint64_t>() > uint64_t(std::numeric_limits<int64_t>::max()));
}

Status read_texts(const Json& value, const Field& field, std::vector<std::string>& out) {
    if (value.is_string()) {
        out = {value.get<std::string>()};
        return {};
    }
    if (!value.is_array() || int64_t(value.size()) > field.high) {
        return fail(Code::invalid_argument, "'{}' must be a list of at most {} texts", field.name, field.high);
    }
    out.clear();
    for (const Json& item : value) {
        if (!item.is_string()) return fail(Code::invalid_argument, "'{}' must be a list of texts", field.name);
        out.push_back(item.get<std::string>());
    }
    return {};
}

Status read_integers(const Json& value, const Field& field, std::vector<int64_t>& out) {
    const auto refuse = [&] {
        return fail(Code::invalid_argument, "'{}' must be a list of whole numbers", field.name);
    };
    if (!value.is_array()) return refuse();
    out.clear();
    for (const Json& item : value) {
        if (!is_whole(item)) return refuse();
        out.push_back(item.get<int64_t>());
    }
    return {};
}

Status read_list(const Json& value, const Field& field, void* out) {
    if (!value.is_array() || int64_t(value.size()) > field.high) {
        return fail(Code::invalid_argument, "'{}' must be a list of at most {} objects", field.name, field.high);
    }
    for (const Json& item : value) TRY(read_fields(item, field.nested->fields, field.add(out)));
    return {};
}

Status read_integer(const Json& value, const Field& field, int64_t& out) {
    if (!is_whole(value)) {
        return fail(Code::invalid_argument, "'{}' must be a whole number between {} and {}", field.name, field.low,
                    field.high);
    }
    out = value.get<int64_t>();
    return check_between(field.name, out, field.low, field.high);
}

Status read_number(const Json& value, const Field& field, double& out) {
    if (!value.is_number()) return fail(Code::invalid_argument, "'{}' must be a number", field.name);
    out = value.get<double>();
    return {};
}

Status read_text(const Json& value, const Field& field, std::string& out) {
    if (!value.is_string()) return fail(Code::invalid_argument, "'{}' must be a text", field.name);
    out = value.get<std::string>();
    return {};
}

// A value that is there.
Status read_field(const Json& value, const Field& field, void* out) {
    switch (field.kind) {
        case Kind::id:
            if (!value.is_number_unsigned() || value.get<uint64_t>() > std::numeric_limits<Id>::max()) {
                return fail(Code::invalid_argument, "'{}' must be a number that names one", field.name);
            }
            *static_cast<Id*>(out) = value.get<Id>();
            return {};
        case Kind::integer: return read_integer(value, field, *static_cast<int64_t*>(out));
        case Kind::maybe_integer:
            return read_integer(value, field, static_cast<std::optional<int64_t>*>(out)->emplace());
        case Kind::number: return read_number(value, field, *static_cast<double*>(out));
        case Kind::maybe_number: return read_number(value, field, static_cast<std::optional<double>*>(out)->emplace());
        case Kind::boolean:
            if (!value.is_boolean()) return fail(Code::invalid_argument, "'{}' must be true or false", field.name);
            *static_cast<bool*>(out) = value.get<bool>();
            return {};
        case Kind::text: return read_text(value, field, *static_cast<std::string*>(out));
        case Kind::maybe_text: return read_text(value, field, static_cast<std::optional<std::string>*>(out)->emplace());
        case Kind::texts: return read_texts(value, field, *static_cast<std::vector<std::string>*>(out));
        case Kind::integers: return read_integers(value, field, *static_cast<std::vector<int64_t>*>(out));
        case Kind::object:
            if (!value.is_object()) return fail(Code::invalid_argument, "'{}' must be an object", field.name);
            return read_fields(value, field.nested->fields, out);
        case Kind::list: return read_list(value, field, out);
        case Kind::json: *static_cast<Json*>(out) = value; return {};
        case Kind::maybe_boolean:
        case Kind::numbers:
        case Kind::maybe_object: break;  // not in arguments
    }
    return {};
}

template <class T>
Json list_json(const void* list) {
    Json out = Json::array();
    for (const T& item : *static_cast<const std::vector<T>*>(list)) out.push_back(item);
    return out;
}

template <class T>
Json maybe_json(const void* maybe) {
    const auto& value = *static_cast<const std::optional<T>*>(maybe);
    return value ? Json(*value) : Json();
}

// Null where there is nothing to write.
Json written_field(const Field& field, const void* from) {
    switch (field.kind) {
        case Kind::id: return *static_cast<const Id*>(from);
        case Kind::integer: return *static_cast<const int64_t*>(from);
        case Kind::number: return *static_cast<const double*>(from);
        case Kind::boolean: return *static_cast<const bool*>(from);
        case Kind::text: return *static_cast<const std::string*>(from);
        case Kind::maybe_integer: return maybe_json<int64_t>(from);
        case Kind::maybe_number: return maybe_json<double>(from);
        case Kind::maybe_boolean: return maybe_json<bool>(from);
        case Kind::maybe_text: return maybe_json<std::string>(from);
        case Kind::texts: return list_json<std::string>(from);
        case Kind::integers: return list_json<int64_t>(from);
        case Kind::numbers: return list_json<double>(from);
        case Kind::json: return *static_cast<const Json*>(from);
        case Kind::object: return written_fields(field.nested->fields, from);
        case Kind::maybe_object: {
            const auto inside = field.items(from);
            return inside.empty() ? Json() : written_fields(field.nested->fields, inside.data());
        }
        case Kind::list: {
            Json out = Json::array();
            const auto items = field.items(from);
            for (size_t at = 0; at < items.size(); at += field.nested->size) {
                out.push_back(written_fields(field.nested->fields, items.data() + at));
            }
            return out;
        }
    }
    return {};
}

}  // namespace

Status check_between(const char* name, int64_t value, int64_t low, int64_t high) {
    if (value >= low && value <= high) return {};
    return fail(Code::invalid_argument, "'{}' must be a whole number between {} and {}", name, low, high);
}

Status read_fields(const Json& object, std::span<const Field> fields, void* out) {
    for (const Field& field : fields) {
        const Json& value = chat::member(object, field.name);
        if (value.is_null() && !field.needed) continue;
        TRY(read_field(value, field, static_cast<std::byte*>(out) + field.offset));
    }
    return {};
}

Json written_fields(std::span<const Field> fields, const void* from) {
    Json out = Json::object();
    for (const Field& field : fields) {
        Json value = written_field(field, static_cast<const std::byte*>(from) + field.offset);
        if (!value.is_null()) out[field.name] = std::move(value);
    }
    return out;
}

}  // namespace lapidary::api
