#include "chat/json.h"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <vector>

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
std::string real_text(double value) {
    std::array<char, 40> buffer{};
    for (int digits = 0; digits <= 16; ++digits) {
        std::snprintf(buffer.data(), buffer.size(), "%.*e", digits, value);
        if (std::strtod(buffer.data(), nullptr) == value) break;
    }
    const std::string_view text = buffer.data();  // [-]d[.ddd]e±xx
    const size_t e = text.find('e');
    if (e == std::string_view::npos) return std::string(text);
    const int exponent = std::atoi(text.data() + e + 1);
    std::string digits;
    for (const char c : text.substr(0, e)) {
        if (c >= '0' && c <= '9') digits += c;
    }
    std::string out = text.starts_with('-') ? "-" : "";
    if (exponent < -4 || exponent >= 16) return std::string(text);
    if (exponent < 0) return out + "0." + std::string(size_t(-exponent - 1), '0') + digits;
    const size_t whole = size_t(exponent) + 1;
    if (digits.size() < whole) digits.append(whole - digits.size(), '0');
    out.append(digits, 0, whole);
    out += '.';
    return out + (digits.size() > whole ? digits.substr(whole) : "0");
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
    if (number.is_number_float()) return real_text(number.get<double>());
    return "0";
}

}  // namespace lapidary::chat
