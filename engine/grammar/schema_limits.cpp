// What keywords about values of one type (lengths, bounds, patterns, members) take from branches.
#include <algorithm>
#include <cmath>

#include "grammar/schema_branches.h"

namespace lapidary::grammar {

Result<uint32_t> SchemaBranches::count(const Json& schema, std::string_view keyword, const Json& value) const {
    const double number = value.is_number() ? value.get<double>() : -1;
    if (!(number >= 0) || number != std::floor(number))
        return document_.wrong(schema, keyword, "must be a whole number from 0");
    return number >= double(kEndless) ? kEndless : uint32_t(number);
}

// The keywords that limit values of one type, and do not speak of other schemas (or only of items).
Status SchemaBranches::limit(const Json& schema, List& branches) {
    bool about_items = false;
    for (const auto& [word, value] : schema.items()) {
        const std::string_view keyword = word;
        const auto each = [&](uint8_t about, auto&& change) {
            for (Branch& branch : branches) {
                branch.about |= about;
                change(branch);
            }
        };
        const auto least = [&](uint8_t about, uint32_t Branch::* member) -> Status {
            const uint32_t number = TRY(count(schema, keyword, value));
            if (number > 0) each(about, [&](Branch& branch) { branch.*member = std::max(branch.*member, number); });
            return {};
        };
        const auto most = [&](uint8_t about, uint32_t Branch::* member) -> Status {
            const uint32_t number = TRY(count(schema, keyword, value));
            each(about, [&](Branch& branch) { branch.*member = std::min(branch.*member, number); });
            return {};
        };
        if (keyword == "type") {
            uint8_t types = TRY(document_.types_named(value, schema));
            if (chat::member(schema, "nullable") == Json(true)) types |= kNull;
            for (Branch& branch : branches) branch.typed = true;
            narrow(branches, types);
        } else if (keyword == "const") {
            each(0, [&](Branch& branch) {
                branch.listed = true;
                branch.values = {&value};
            });
        } else if (keyword == "enum") {
            if (!value.is_array() || value.empty()) {
                return document_.wrong(schema, keyword, "must be a list of at least one value");
            }
            std::vector<const Json*> values;
            for (const Json& one : value) values.push_back(&one);
            each(0, [&](Branch& branch) {
                if (!branch.listed) branch.values = values;
                branch.listed = true;
            });
        } else if (keyword == "minLength") {
            TRY(least(kString, &Branch::min_length));
        } else if (keyword == "maxLength") {
            TRY(most(kString, &Branch::max_length));
        } else if (keyword == "pattern" || keyword == "format") {
            if (!value.is_string()) return document_.wrong(schema, keyword, "must be a text");
            const std::string_view text = chat::string_of(value);
            const bool is_pattern = keyword == "pattern";
            if (!is_pattern && find_text_format(text) == nullptr) continue;
            if (is_pattern) {
                const auto& known = document_.pattern(text);
                if (!known) {
                    return fail(known.error().code, "{} (the schema at {})", known.error().message,
                                printable(document_.path_of(&schema), 200));
                }
            }
            const TextLimit limit{is_pattern ? TextLimit::Kind::pattern : TextLimit::Kind::format, false, text};
            each(kString, [&](Branch& branch) {
                if (std::ranges::find(branch.texts, limit) == branch.texts.end()) branch.texts.push_back(limit);
            });
        } else if (keyword == "minItems") {
            TRY(least(kArray, &Branch::min_items));
        } else if (keyword == "maxItems") {
            TRY(most(kArray, &Branch::max_items));
        } else if (keyword == "uniqueItems") {
            if (!value.is_boolean()) return document_.wrong(schema, keyword, "must be true or false");
            if (value.get<bool>()) each(kArray, [](Branch& branch) { branch.unique = true; });
        } else if (keyword == "items" || keyword == "prefixItems" || keyword == "contains") {
            about_items = true;
        } else if (keyword == "minProperties") {
            TRY(least(kObject, &Branch::min_members));
        } else if (keyword == "maxProperties") {
            TRY(most(kObject, &Branch::max_members));
        } else if (keyword == "propertyNames") {
            Term names;
            TRY(add(names, value));
            each(kObject, [&](Branch& branch) { std::ranges::copy(names, std::back_inserter(branch.names)); });
        } else if (keyword == "required") {
            if (!value.is_array() || !std::ranges::all_of(value, [](const Json& name) { return name.is_string(); })) {
                return document_.wrong(schema, keyword, "must be a list of names");
            }
            if (value.size() > chat::kMaxJsonMembers) {
                return fail(Code::limit, "'required' at {} has more than {} names",
                            printable(document_.path_of(&schema), 200), chat::kMaxJsonMembers);
            }
            if (value.empty()) continue;
            each(kObject, [&](Branch& branch) {
                for (const Json& name : value) branch.require(name.get<std::string>());
            });
        }
    }
    TRY(limit_number(schema, branches));
    if (about_items) TRY(limit_array(schema, branches));
    std::erase_if(branches, [](const Branch& branch) { return branch.types == 0 && !branch.listed; });
    return {};
}

Status SchemaBranches::limit_number(const Json& schema, List& branches) {
    for (const auto& [word, value] : schema.items()) {
        const std::string_view keyword = word;
        const bool exclusive = keyword.starts_with("exclusive");
        const bool low = keyword == "minimum" || keyword == "exclusiveMinimum";
        const bool high = keyword == "maximum" || keyword == "exclusiveMaximum";
        const bool multiple = keyword == "multipleOf" || keyword == "divisibleBy";
        if (!low && !high && !multiple) continue;
        if (exclusive && value.is_boolean()) continue;  // as it was written before draft 6: see below
        if (!value.is_number()) return document_.wrong(schema, keyword, "must be a number");
        const DecimalBound number = TRY(decimal_bound(value));
        if (multiple && (number.negative || number.is_zero()))
            return document_.wrong(schema, keyword, "must be greater than 0");
        const bool excluded =
            exclusive || chat::member(schema, low ? "exclusiveMinimum" : "exclusiveMaximum") == Json(true);
        for (Branch& branch : branches) {
            branch.about |= kWhole | kFractional;
            if (low) branch.number.at_least({number, excluded});
            if (high) branch.number.at_most({number, excluded});
            if (multiple && std::ranges::find(branch.number.multiples, number) == branch.number.multiples.end()) {
                branch.number.multiples.push_back(number);
            }
        }
    }
    return {};
}

Status SchemaBranches::limit_array(const Json& schema, List& branches) {
    const Json& items = chat::member(schema, "items");
    ItemGroup group;
    if (items.is_array()) {
        group.first = &items;
        if (schema.contains("additionalItems")) group.rest = &schema["additionalItems"];
    } else {
        if (schema.contains("prefixItems")) group.first = &schema["prefixItems"];
        if (schema.contains("items")) group.rest = &items;
    }
    if (group.first != nullptr && !group.first->is_array()) {
        return document_.wrong(schema, "prefixItems", "must be a list of schemas");
    }
    for (Branch& branch : branches) {
        branch.about |= kArray;
        if (group.first != nullptr || group.rest != nullptr) branch.items.push_back(group);
    }
    if (!schema.contains("contains")) return {};
    Contained contained;
    TRY(add(contained.term, schema["contains"]));
    const Json& least = chat::member(schema, "minContains");
    const Json& most = chat::member(schema, "maxContains");
    if (!most.is_null()) return document_.wrong(schema, "maxContains", "is not supported");
    const uint32_t min = least.is_null() ? 1 : TRY(count(schema, "minContains", least));
    if (min > 1) return document_.wrong(schema, "minContains", "is supported only up to 1");
    for (Branch& branch : branches) {
        if (min == 1) branch.contains.push_back(contained);
    }
    return {};
}

Status SchemaBranches::limit_members(const Json& schema, List& branches) {
    MemberGroup group{.hidden = negations_ > 0};
    for (const char* keyword : {"properties", "patternProperties"}) {
        const auto found = schema.find(keyword);
        if (found == schema.end()) continue;
        if (!found->is_object()) return document_.wrong(schema, keyword, "must be an object");
        (std::string_view(keyword) == "properties" ? group.properties : group.patterns) = &*found;
    }
    if (group.patterns != nullptr) {
        for (const auto& [pattern, ignored] : group.patterns->items()) {
            const auto& known = document_.pattern(pattern);
            if (!known) return std::unexpected(known.error());
        }
    }
    if (const auto found = schema.find("additionalProperties"); found != schema.end()) {
        if (!found->is_object() && !found->is_boolean()) {
            return document_.wrong(schema, "additionalProperties", "must be a schema");
        }
        group.others = &*found;
    }
    const auto says = [](const Json* list) { return list != nullptr && !list->empty(); };
    const bool about_others = group.others != nullptr && *group.others != Json(true) && *group.others != Json::object();
    for (Branch& branch : branches) {
        if (says(group.properties) || says(group.patterns) || about_others) branch.about |= kObject;
        branch.members.push_back(group);
    }
    return {};
}

}  // namespace lapidary::grammar
