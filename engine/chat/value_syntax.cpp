#include "chat/value_syntax.h"

#include <algorithm>

#include "chat/markers.h"
#include "chat/text.h"

namespace lapidary::chat {
namespace {

// Conversations are bounded when they are read; this guards values a caller put together itself.
constexpr size_t kMaxValueDepth = kMaxJsonDepth + 8;

void write_level(PieceWriter& out, const Json& value, KeyStyle keys, size_t depth);

void write_members_level(PieceWriter& out, const Json& object, KeyStyle keys, size_t depth) {
    bool first = true;
    for (const auto& [key, value] : sorted_members(object)) {
        if (!first) out.trusted(",");
        first = false;
        if (keys == KeyStyle::quoted) {
            write_string(out, key);
        } else {
            out.untrusted(key);
        }
        out.trusted(":");
        write_level(out, *value, keys, depth);
    }
}

void write_level(PieceWriter& out, const Json& value, KeyStyle keys, size_t depth) {
    if (value.is_string()) {
        write_string(out, string_of(value));
    } else if (value.is_boolean()) {
        out.trusted(value.get<bool>() ? "true" : "false");
    } else if (value.is_number()) {
        out.trusted(number_text(value));
    } else if (!value.is_structured() || depth == kMaxValueDepth) {
        out.trusted("null");
    } else if (value.is_object()) {
        out.trusted("{");
        write_members_level(out, value, keys, depth + 1);
        out.trusted("}");
    } else {
        out.trusted("[");
        for (size_t i = 0; i < value.size(); ++i) {
            if (i > 0) out.trusted(",");
            write_level(out, value[i], keys, depth + 1);
        }
        out.trusted("]");
    }
}

}  // namespace

void write_value(PieceWriter& out, const Json& value, KeyStyle keys) {
    write_level(out, value, keys, 0);
}

void write_members(PieceWriter& out, const Json& object, KeyStyle keys) {
    write_members_level(out, object, keys, 1);
}

void write_string(PieceWriter& out, std::string_view text) {
    out.trusted(kQuote);
    out.untrusted(text);
    out.trusted(kQuote);
}

std::vector<std::pair<std::string_view, const Json*>> sorted_members(const Json& object) {
    struct Entry {
        std::string folded;
        std::string_view key;
        const Json* value;
    };
    std::vector<Entry> entries;
    if (const auto* members = object.get_ptr<const Json::object_t*>()) {
        for (const auto& [key, value] : *members) entries.push_back({ascii_lower(key), key, &value});
    }
    std::ranges::stable_sort(entries, {}, &Entry::folded);
    std::vector<std::pair<std::string_view, const Json*>> sorted;
    sorted.reserve(entries.size());
    for (const Entry& entry : entries) sorted.emplace_back(entry.key, entry.value);
    return sorted;
}

}  // namespace lapidary::chat
