#include "api/args.h"

#include <limits>

namespace lapidary::api {

Result<uint32_t> Args::id(const char* name) const {
    const Json& value = member(name);
    if (!value.is_number_unsigned() || value.get<uint64_t>() > std::numeric_limits<uint32_t>::max()) {
        return fail(Code::invalid_argument, "'{}' must be a number that names one", name);
    }
    return value.get<uint32_t>();
}

Result<std::string> Args::string(const char* name) const {
    const Json& value = member(name);
    if (!value.is_string()) return fail(Code::invalid_argument, "'{}' must be a text", name);
    return value.get<std::string>();
}

Result<bool> Args::boolean_or(const char* name, bool other) const {
    if (!has(name)) return other;
    if (!member(name).is_boolean()) return fail(Code::invalid_argument, "'{}' must be true or false", name);
    return member(name).get<bool>();
}

Result<int64_t> Args::integer_or(const char* name, int64_t low, int64_t high, int64_t other) const {
    if (!has(name)) return other;
    const Json& value = member(name);
    const bool too_large =
        value.is_number_unsigned() && value.get<uint64_t>() > uint64_t(std::numeric_limits<int64_t>::max());
    if (!value.is_number_integer() || too_large || value.get<int64_t>() < low || value.get<int64_t>() > high) {
        return fail(Code::invalid_argument, "'{}' must be a whole number between {} and {}", name, low, high);
    }
    return value.get<int64_t>();
}

Result<float> Args::number_or(const char* name, float other) const {
    if (!has(name)) return other;
    if (!member(name).is_number()) return fail(Code::invalid_argument, "'{}' must be a number", name);
    return member(name).get<float>();
}

Result<std::vector<std::string>> Args::strings(const char* name, size_t most) const {
    std::vector<std::string> out;
    if (!has(name)) return out;
    const Json& list = member(name);
    if (list.is_string()) return std::vector{list.get<std::string>()};
    if (!list.is_array() || list.size() > most) {
        return fail(Code::invalid_argument, "'{}' must be a list of at most {} texts", name, most);
    }
    for (const Json& item : list) {
        if (!item.is_string()) return fail(Code::invalid_argument, "'{}' must be a list of texts", name);
        out.push_back(item.get<std::string>());
    }
    return out;
}

}  // namespace lapidary::api
