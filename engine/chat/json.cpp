#include "chat/json.h"

#include <cmath>
#include <cstdlib>
#include <vector>

#include "base/decimal.h"

namespace lapidary::chat {
namespace {

// Walks the text once and counts, so that the parser never sees what it could choke on. Text that is not JSON
// may pass; the parser refuses it afterwards.
Status check_text(std::string_view text, std::string_view what) {
    if (text.size() > kMaxJsonBytes) {
        return fail(Code::limit, "{} is {}; at most {} are accepted", what, format_bytes(text.size()),
                    format_bytes(kMaxJsonBytes));
    }
    struct Level {
        bool object;
        size_t commas;
    };
    std::vector<Level> open;
    bool in_string = false;
    for (size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (in_string) {
            if (c == '\\') ++i;
            if (c == '"') in_string = false;
        } else if (c == '"') {
            in_string = true;
        } else if (c == '{' || c == '[') {
            if (open.size() == kMaxJsonDepth) {
                return fail(Code::limit, "{} nests deeper than {} levels", what, kMaxJsonDepth);
            }
            open.push_back({c == '{', 0});
        } else if ((c == '}' || c == ']') && !open.empty()) {
            open.pop_back();
        } else if (c == ',' && !open.empty() && open.back().object && ++open.back().commas >= kMaxJsonMembers) {
            return fail(Code::limit, "{} has an object with more than {} members", what, kMaxJsonMembers);
        }
    }
    return {};
}

Status check_level(const Json& value, std::string_view what, size_t depth) {
    if (!value.is_structured()) return {};
    if (depth == kMaxJsonDepth) return fail(Code::limit, "{} nests deeper than {} levels", what, kMaxJsonDepth);
    if (value.is_object() && value.size() > kMaxJsonMembers) {
        return fail(Code::limit, "{} has an object with more than {} members", what, kMaxJsonMembers);
    }
    for (const Json& inner : value) TRY(check_level(inner, what, depth + 1));
    return {};
}

// Python's repr of a double: shortest digits, exponents outside 1e-4 … 1e16.
std::string python_text(double value) {
    if (value == 0 || !std::isfinite(value)) return real_text(value) + (value == 0 ? ".0" : "");
    const Decimal all = decimal_of(std::abs(value));
    Decimal shortest;
    for (size_t digits = 1; digits <= 17; ++digits) {
        shortest = all.rounded(digits);
        if (std::strtod(scientific_text(shortest).c_str(), nullptr) == std::abs(value)) break;
    }
    const std::string sign = value < 0 ? "-" : "";
    if (shortest.exponent <= -4 || shortest.exponent > 16) return sign + scientific_text(shortest);
    const std::string text = plain_text(shortest);
    return sign + text + (text.contains('.') ? "" : ".0");
}

}  // namespace

Result<Json> parse_json(std::string_view text, std::string_view what) {
    TRY(check_text(text, what));
    // What Json::parse does, without the half of it that serves callbacks.
    Json value;
    nlohmann::detail::json_sax_dom_parser<Json> builder(value, false);
    using Input = decltype(nlohmann::detail::input_adapter(text));
    nlohmann::detail::parser<Json, Input> parser(nlohmann::detail::input_adapter(text), nullptr, false);
    if (!parser.sax_parse(&builder) || builder.is_errored())
        return fail(Code::invalid_argument, "{} is not valid JSON", what);
    return value;
}

Status check_bounds(const Json& value, std::string_view what) {
    return check_level(value, what, 0);
}

const Json& member(const Json& value, const char* key) {
    static const Json null_value;
    if (!value.is_object()) return null_value;
    const auto found = value.find(key);
    return found == value.end() ? null_value : *found;
}

std::string_view string_of(const Json& value) {
    const auto* text = value.get_ptr<const Json::string_t*>();
    return text == nullptr ? std::string_view() : std::string_view(*text);
}

std::string json_text(const Json& value) {
    return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string number_text(const Json& number) {
    if (number.is_number_unsigned()) return std::to_string(number.get<uint64_t>());
    if (number.is_number_integer()) return std::to_string(number.get<int64_t>());
    if (number.is_number_float()) return python_text(number.get<double>());
    return "0";
}

}  // namespace lapidary::chat
