// What `not` takes from branches: a branch for each way in which a keyword can fail to hold.
#include <algorithm>
#include <functional>
#include <iterator>
#include <utility>

#include "grammar/schema_branches.h"

namespace lapidary::grammar {
namespace {
constexpr size_t kMaxOthers = 64;  // alternatives that say which member is not as the others must be
}

Status SchemaBranches::apply_negated(const Json& schema, List& branches, int depth) {
    // Not all of the keywords: one of them does not hold.
    List out;
    for (const auto& [keyword, value] : schema.items()) {
        if (!document_.budget().take(branches.size() * 8)) return too_much_work();
        List copy = TRY(copy_of(branches));
        std::erase_if(copy, [](const Branch& branch) { return branch.listed; });
        TRY(negate_keyword(schema, keyword, value, copy, depth));
        TRY(prune(copy, depth));
        TRY(copy_into(out, std::move(copy)));
    }
    for (Branch& branch : branches) {
        if (branch.listed) out.push_back(std::move(branch));
    }
    branches = std::move(out);
    if (is_nullable_choice(schema)) narrow(branches, kAllTypes & ~kNull);
    return {};
}

// Leaves the branches in which a keyword does not hold.
Status SchemaBranches::negate_keyword(const Json& schema, const std::string& keyword, const Json& value, List& branches,
                                      int depth) {
    const auto only = [&](uint8_t types, auto&& change) {
        for (Branch& branch : branches) {
            branch.types &= types;
            branch.typed = branch.typed || types != kObject;
            branch.about |= types;
            change(branch);
        }
    };
    const auto replace_by = [&](auto&& alternatives) -> Status {
        List out;
        for (auto&& change : alternatives) {
            List copy = TRY(copy_of(branches));
            TRY(change(copy));
            TRY(copy_into(out, std::move(copy)));
        }
        branches = std::move(out);
        return {};
    };
    using Change = std::function<Status(List&)>;
    std::vector<Change> alternatives;
    const auto needs_schema = [&](const Json& list) { return list.is_array() && !list.empty(); };

    if (keyword == "type") {
        uint8_t types = TRY(document_.types_named(value, schema));
        if (chat::member(schema, "nullable") == Json(true)) types |= kNull;
        for (Branch& branch : branches) {
            branch.typed = true;
            if ((types & kWhole) != 0) branch.number.whole = false;
            if ((types & kFractional) != 0) branch.number.fractional = false;
        }
        narrow(branches, uint8_t(~types & kAllTypes));
        return {};
    }
    if (keyword == "const" || keyword == "enum") {
        const Json list = keyword == "const" ? Json::array({value}) : value;
        if (!list.is_array()) return document_.wrong(schema, keyword, "must be a list");
        for (const Json& one : keyword == "const" ? made(list) : value) {
            if (!document_.budget().take(branches.size())) return too_much_work();
            if (one.is_structured()) {
                // As the schema that describes it.
                Json same = one.is_object()
                                ? Json{{"type", "object"}, {"maxProperties", one.size()}}
                                : Json{{"type", "array"}, {"minItems", one.size()}, {"maxItems", one.size()}};
                if (one.is_object()) {
                    same["required"] = Json::array();
                    for (const auto& [name, inner] : one.items()) {
                        same["required"].push_back(name);
                        same["properties"][name] = {{"const", inner}};
                    }
                } else {
                    for (const Json& inner : one) same["prefixItems"].push_back({{"const", inner}});
                }
                TRY(apply({&made(std::move(same)), true}, branches, depth));
                continue;
            }
            for (Branch& branch : branches) {
                // Of all types but this one, or of this one and different.
                branch.typed = true;
                if (one.is_string()) branch.unlike.push_back(&one);
                if (one.is_number()) branch.number.excluded.push_back(TRY(decimal_bound(one)));
            }
            if (one.is_null()) narrow(branches, kAllTypes & ~kNull);
            if (one.is_boolean()) {
                // The other one of both is listed.
                List others = TRY(copy_of(branches));
                narrow(branches, kAllTypes & ~kBoolean);
                narrow(others, kBoolean);
                static const Json both[2] = {false, true};
                for (Branch& branch : others) {
                    branch.listed = true;
                    branch.values = {&both[one.get<bool>() ? 0 : 1]};
                }
                TRY(copy_into(branches, std::move(others)));
            }
        }
        return {};
    }
    if (keyword == "minLength" || keyword == "minItems" || keyword == "minProperties") {
        const uint32_t number = TRY(count(schema, keyword, value));
        if (number == 0) return branches.clear(), Status();
        const uint32_t most = number - 1;
        if (keyword == "minLength") {
            only(kString, [&](Branch& branch) { branch.max_length = std::min(branch.max_length, most); });
        } else if (keyword == "minItems") {
            only(kArray, [&](Branch& branch) { branch.max_items = std::min(branch.max_items, most); });
        } else {
            only(kObject, [&](Branch& branch) { branch.max_members = std::min(branch.max_members, most); });
        }
        return {};
    }
    if (keyword == "maxLength" || keyword == "maxItems" || keyword == "maxProperties") {
        const uint32_t number = TRY(count(schema, keyword, value));
        if (number == kEndless) return branches.clear(), Status();
        if (keyword == "maxLength") {
            only(kString, [&](Branch& branch) { branch.min_length = std::max(branch.min_length, number + 1); });
        } else if (keyword == "maxItems") {
            only(kArray, [&](Branch& branch) { branch.min_items = std::max(branch.min_items, number + 1); });
        } else {
            only(kObject, [&](Branch& branch) { branch.min_members = std::max(branch.min_members, number + 1); });
        }
        return {};
    }
    if (keyword == "pattern" || keyword == "format") {
        const std::string_view text = chat::string_of(value);
        const bool is_pattern = keyword == "pattern";
        if (!is_pattern && find_text_format(text) == nullptr) return branches.clear(), Status();
        if (is_pattern) {
            const auto& known = document_.pattern(text);
            if (!known) return std::unexpected(known.error());
            if (!known->exact) {
                leave_out(schema, keyword);
                return branches.clear(), Status();
            }
        }
        only(kString, [&](Branch& branch) {
            branch.texts.push_back({is_pattern ? TextLimit::Kind::pattern : TextLimit::Kind::format, true, text});
        });
        return {};
    }
    const bool low = keyword == "minimum" || keyword == "exclusiveMinimum";
    if (low || keyword == "maximum" || keyword == "exclusiveMaximum") {
        if (value.is_boolean()) return branches.clear(), Status();
        const DecimalBound number = TRY(decimal_bound(value));
        const bool excluded =
            keyword[0] == 'e' || chat::member(schema, low ? "exclusiveMinimum" : "exclusiveMaximum") == Json(true);
        only(kWhole | kFractional, [&](Branch& branch) {
            if (low) {
                branch.number.at_most({number, !excluded});
            } else {
                branch.number.at_least({number, !excluded});
            }
        });
        return {};
    }
    if (keyword == "multipleOf" || keyword == "divisibleBy") {
        const DecimalBound number = TRY(decimal_bound(value));
        only(kWhole | kFractional, [&](Branch& branch) { branch.number.not_multiples.push_back(number); });
        return {};
    }
    if (keyword == "required") {
        if (!value.is_array()) return document_.wrong(schema, keyword, "must be a list of names");
        for (const Json& name : value) {
            alternatives.emplace_back([&name](List& copy) -> Status {
                for (Branch& branch : copy) {
                    branch.types &= kObject;
                    branch.about |= kObject;
                    branch.forbidden.insert(std::string(chat::string_of(name)));
                }
                return {};
            });
        }
        return replace_by(alternatives);
    }
    if (keyword == "properties") {
        if (!value.is_object()) return document_.wrong(schema, keyword, "must be an object");
        for (const auto& [name, inner] : value.items()) {
            Term term;
            TRY(add(term, inner, true));
            if (impossible(term)) continue;
            alternatives.emplace_back([term, name](List& copy) -> Status {
                for (Branch& branch : copy) {
                    branch.types &= kObject;
                    branch.about |= kObject;
                    branch.require(name);
                    std::ranges::copy(term, std::back_inserter(branch.member_terms[name]));
                }
                return {};
            });
        }
        return replace_by(alternatives);
    }
    if (keyword == "items" || keyword == "prefixItems" || keyword == "additionalItems") {
        const Json& items = chat::member(schema, "items");
        const bool old = items.is_array();
        const Json& first = old ? items : chat::member(schema, "prefixItems");
        const uint32_t from = first.is_array() ? uint32_t(first.size()) : 0;
        if (keyword == "additionalItems" && !old) return branches.clear(), Status();
        if (&value == &first) {
            for (uint32_t i = 0; i < from; ++i) {
                Term term;
                TRY(add(term, first[i], true));
                if (impossible(term)) continue;
                alternatives.emplace_back([term, i](List& copy) -> Status {
                    for (Branch& branch : copy) {
                        branch.types &= kArray;
                        branch.about |= kArray;
                        branch.min_items = std::max(branch.min_items, i + 1);
                        std::ranges::copy(term, std::back_inserter(branch.item_terms[i]));
                    }
                    return {};
                });
            }
            return replace_by(alternatives);
        }
        Contained contained{.term = {}, .from = from};
        TRY(add(contained.term, value, true));
        if (impossible(contained.term)) return branches.clear(), Status();
        only(kArray, [&](Branch& branch) { branch.contains.push_back(contained); });
        return {};
    }
    if (keyword == "contains") {
        if (schema.contains("minContains") || schema.contains("maxContains")) {
            leave_out(schema, keyword);
            return branches.clear(), Status();
        }
        const Json& none = made({{"not", value}});
        only(kArray, [&](Branch& branch) { branch.items.push_back({.first = nullptr, .rest = &none}); });
        return {};
    }
    if (keyword == "uniqueItems" && value != Json(true)) return branches.clear(), Status();
    if (keyword == "dependentRequired" || keyword == "dependencies" || keyword == "dependentSchemas") {
        if (!value.is_object()) return document_.wrong(schema, keyword, "must be an object");
        for (const auto& [name, needed] : value.items()) {
            const Json& broken = needed.is_array() || needed.is_string()
                                     ? made({{"required", needed.is_array() ? needed : Json::array({needed})}})
                                     : needed;
            alternatives.emplace_back([this, &broken, name, depth](List& copy) -> Status {
                for (Branch& branch : copy) {
                    branch.types &= kObject;
                    branch.about |= kObject;
                    branch.require(name);
                }
                return apply({&broken, true}, copy, depth);
            });
        }
        return replace_by(alternatives);
    }
    if (keyword == "$ref") {
        Term term;
        TRY(add(term, *TRY(document_.find(chat::string_of(value))), true));
        for (const Literal& literal : term) TRY(apply(literal, branches, depth));
        return {};
    }
    if (keyword == "not") return apply({&value, false}, branches, depth);
    if (keyword == "anyOf") {
        if (!needs_schema(value)) return document_.wrong(schema, keyword, "must be a list of at least one schema");
        for (const Json& one : value) TRY(apply({TRY(document_.resolved(&one)), true}, branches, depth));
        return {};
    }
    if (keyword == "allOf") {
        if (!needs_schema(value)) return document_.wrong(schema, keyword, "must be a list of at least one schema");
        for (const Json& one : value) {
            alternatives.emplace_back([this, &one, depth](List& copy) { return apply({&one, true}, copy, depth); });
        }
        return replace_by(alternatives);
    }
    if (keyword == "oneOf") {
        // None holds, or two do.
        if (!needs_schema(value)) return document_.wrong(schema, keyword, "must be a list of at least one schema");
        alternatives.emplace_back([&value, this, depth](List& copy) -> Status {
            for (const Json& one : value) TRY(apply({&one, true}, copy, depth));
            return {};
        });
        for (size_t i = 0; i < value.size(); ++i) {
            for (size_t k = i + 1; k < value.size(); ++k) {
                if (!document_.budget().take(8)) return too_much_work();
                alternatives.emplace_back([&value, i, k, this, depth](List& copy) -> Status {
                    TRY(apply({&value[i], false}, copy, depth));
                    TRY(apply({&value[k], false}, copy, depth));
                    return prune(copy, depth);
                });
            }
        }
        return replace_by(alternatives);
    }
    if (keyword == "if" && document_.has_conditions()) {
        if (schema.contains("then")) {
            alternatives.emplace_back([&schema, this, depth](List& copy) -> Status {
                TRY(apply({&schema["if"], false}, copy, depth));
                return apply({&schema["then"], true}, copy, depth);
            });
        }
        if (schema.contains("else")) {
            alternatives.emplace_back([&schema, this, depth](List& copy) -> Status {
                TRY(apply({&schema["if"], true}, copy, depth));
                return apply({&schema["else"], true}, copy, depth);
            });
        }
        return replace_by(alternatives);
    }
    if (keyword == "additionalProperties") return negate_others(schema, value, branches);
    // The rest limits nothing, or has no complement that can be followed.
    if (keyword == "patternProperties" || keyword == "propertyNames" || keyword == "uniqueItems" ||
        keyword == "unevaluatedProperties" || keyword == "unevaluatedItems" || keyword == "$dynamicRef" ||
        keyword == "$recursiveRef" || limits_elsewhere(keyword, value)) {
        const bool anything = keyword != "uniqueItems" && (value == Json(true) || (value.is_object() && value.empty()));
        if (!anything || keyword[0] == '$') leave_out(schema, keyword);
    }
    branches.clear();
    return {};
}

// Some member that the schema does not declare is not as it says of the others. Of the names that the branch knows: that it might be
// any other is left out.
Status SchemaBranches::negate_others(const Json& schema, const Json& value, List& branches) {
    Term term;
    TRY(add(term, value, true));
    if (impossible(term)) return branches.clear(), Status();
    const Json& properties = chat::member(schema, "properties");
    const Json& patterns = chat::member(schema, "patternProperties");
    const auto may_declare = [&](const std::string& name) {
        if (properties.is_object() && properties.contains(name)) return true;
        return std::ranges::any_of(patterns.items(), [&](const auto& item) {
            const auto& known = document_.pattern(item.key());
            return !known || !known->exact || known->language.has(name);
        });
    };
    List out;
    for (const Branch& branch : branches) {
        if ((branch.types & kObject) == 0) continue;
        std::vector<std::string> names = branch.required;
        for (const MemberGroup& group : branch.members) {
            if (group.properties == nullptr || group.hidden) continue;
            for (const auto& [name, ignored] : group.properties->items()) names.push_back(name);
        }
        std::set<std::string_view> met;
        for (size_t i = 0; i < names.size() && out.size() < kMaxOthers; ++i) {
            if (!document_.budget().take(4 + patterns.size())) return too_much_work();
            const std::string& name = names[i];
            if (!met.insert(name).second || branch.forbidden.contains(name) || may_declare(name)) continue;
            List with = TRY(copy_of({branch}));
            with[0].types = kObject;
            with[0].about |= kObject;
            with[0].require(name);
            for (const Literal& literal : term) TRY(add(with[0].member_terms[name], literal));
            TRY(copy_into(out, std::move(with)));
            // It is there in any case.
            if (i < branch.required.size() && term.empty()) break;
        }
    }
    if (out.empty()) leave_out(schema, "additionalProperties");
    branches = std::move(out);
    return {};
}

}  // namespace lapidary::grammar
