#include "grammar/schema_branches.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <utility>

namespace lapidary::grammar {
namespace {

constexpr size_t kMaxBranches = 2048;
constexpr int kMaxApplied = 100;   // schemas inside one another at one level
constexpr size_t kMaxOthers = 64;  // alternatives that say which member is not as the others must be
constexpr int kMaxLook = 4;        // levels that are looked at to see that a branch is empty

const Json kFalse = false;

void narrow(std::vector<Branch>& branches, uint8_t types) {
    for (Branch& branch : branches) branch.types &= types;
    std::erase_if(branches, [](const Branch& branch) { return branch.types == 0 && !branch.listed; });
}

bool has_name(const Json& list, const std::string& name) {
    return list.is_array() && std::ranges::any_of(list, [&](const Json& one) { return chat::string_of(one) == name; });
}

}  // namespace

void Branch::require(const std::string& name) {
    if (std::ranges::find(required, name) == required.end()) required.push_back(name);
}

uint64_t Branch::weight() const {
    const size_t parts = values.size() / 8 + texts.size() + unlike.size() + items.size() + contains.size() +
                         members.size() + names.size() + number.excluded.size();
    return 16 + 2 * parts + 4 * (required.size() + forbidden.size() + member_terms.size() + item_terms.size());
}

const Json& SchemaBranches::made(Json schema) {
    made_.push_back(std::make_unique<Json>(std::move(schema)));
    return *made_.back();
}

void SchemaBranches::leave_out(const Json& schema, std::string_view keyword) {
    if (left_out_.empty()) {
        left_out_ = format("'{}' of the schema at {}", printable(keyword), printable(document_.path_of(&schema), 200));
    }
}

Status SchemaBranches::add(Term& term, const Json& schema, bool negated) {
    const Json* target = TRY(document_.resolved(&schema));
    if (!target->is_object() && !target->is_boolean()) {
        return fail(Code::invalid_argument, "the schema at {} must be an object",
                    printable(document_.path_of(&schema), 200));
    }
    const bool anything = target->is_boolean() ? target->get<bool>() : target->empty();
    const bool nothing = target->is_boolean() && !anything;
    if (negated ? nothing : anything) return {};
    return add(term, anything || nothing ? Literal{&kFalse, false} : Literal{target, negated});
}

// What a long term costs, whoever looks through it, is counted here.
Status SchemaBranches::add(Term& term, const Literal& literal) {
    if (!document_.budget().take(1 + term.size())) return too_much_work();
    if (std::ranges::find(term, literal) == term.end()) term.push_back(literal);
    return {};
}

bool SchemaBranches::impossible(const Term& term) {
    return std::ranges::any_of(term, [&](const Literal& literal) {
        return literal.schema == &kFalse ||
               std::ranges::find(term, Literal{literal.schema, !literal.negated}) != term.end();
    });
}

Status SchemaBranches::add_member(const Branch& branch, const std::string& name, Term& term) {
    for (const MemberGroup& group : branch.members) {
        bool declared = false;
        if (group.properties != nullptr && group.properties->contains(name)) {
            declared = true;
            TRY(add(term, (*group.properties)[name]));
        }
        if (group.patterns != nullptr) {
            for (const auto& [pattern, schema] : group.patterns->items()) {
                const auto& known = document_.pattern(pattern);
                if (!known) return std::unexpected(known.error());
                if (known->language.has(name)) {
                    declared = true;
                    TRY(add(term, schema));
                } else if (!known->exact) {
                    term.push_back({&kFalse, false});
                }
            }
        }
        if (!declared && group.others != nullptr) TRY(add(term, *group.others));
    }
    if (const auto more = branch.member_terms.find(name); more != branch.member_terms.end()) {
        for (const Literal& literal : more->second) TRY(add(term, literal));
    }
    return {};
}

Result<bool> SchemaBranches::declares_by_pattern(const Branch& branch, const std::string& name) const {
    for (const MemberGroup& group : branch.members) {
        if (group.hidden) continue;
        if (group.others != nullptr) return true;
        if (group.patterns == nullptr) continue;
        for (const auto& [pattern, ignored] : group.patterns->items()) {
            const auto& known = document_.pattern(pattern);
            if (!known) return std::unexpected(known.error());
            if (known->language.has(name)) return true;
        }
    }
    return false;
}

Status SchemaBranches::add_item(const Branch& branch, size_t index, Term& term) {
    for (const ItemGroup& group : branch.items) {
        const size_t first = group.first != nullptr ? group.first->size() : 0;
        if (index < first) {
            TRY(add(term, (*group.first)[index]));
        } else if (group.rest != nullptr) {
            TRY(add(term, *group.rest));
        }
    }
    if (const auto more = branch.item_terms.find(uint32_t(index)); more != branch.item_terms.end()) {
        for (const Literal& literal : more->second) TRY(add(term, literal));
    }
    return {};
}

Result<std::vector<const Json*>> SchemaBranches::listed(const Term& term, const std::vector<const Json*>& values) {
    std::vector<const Json*> out;
    for (const Json* value : values) {
        const bool fits = std::ranges::all_of(term, [&](const Literal& literal) {
            return check_.check(*value, *literal.schema) == (literal.negated ? Verdict::no : Verdict::yes);
        });
        if (document_.budget().spent()) return too_much_work();
        if (fits) out.push_back(value);
    }
    return out;
}

Result<SchemaBranches::Branches> SchemaBranches::of(const Term& term, int depth) {
    Term key = term;
    std::ranges::sort(key);
    if (const auto known = known_.find(key); known != known_.end()) return known->second;
    List branches;
    if (!impossible(term)) {
        branches.emplace_back();
        const std::vector<Literal> around = std::exchange(active_, {});
        const bool alone = std::exchange(alone_, term.size() == 1);
        const int negations = std::exchange(negations_, 0);
        for (const Literal& literal : term) TRY(apply(literal, branches, depth));
        active_ = around;
        alone_ = alone;
        negations_ = negations;
        for (Branch& branch : branches) {
            if (branch.listed) branch.values = TRY(listed(term, branch.values));
        }
        std::erase_if(branches, [](const Branch& branch) { return branch.listed && branch.values.empty(); });
        TRY(prune(branches, depth));
    }
    auto out = std::make_shared<const List>(std::move(branches));
    known_.emplace(std::move(key), out);
    return out;
}

Status SchemaBranches::copy_into(List& out, List&& more) {
    if (out.size() + more.size() > kMaxBranches) {
        return fail(Code::limit, "the schema combines too many alternatives: more than {}", kMaxBranches);
    }
    if (!document_.budget().take(more.size() * 8)) return too_much_work();
    std::ranges::move(more, std::back_inserter(out));
    return {};
}

Result<SchemaBranches::List> SchemaBranches::copy_of(const List& branches) {
    uint64_t weight = 0;
    for (const Branch& branch : branches) weight += branch.weight();
    if (!document_.budget().take(weight)) return too_much_work();
    return branches;
}

Status SchemaBranches::prune(List& branches, int depth) {
    List out;
    for (Branch& branch : branches) {
        if (TRY(possible(branch, depth))) out.push_back(std::move(branch));
    }
    branches = std::move(out);
    return {};
}

// False when no value is in the branch, as far as that can be seen at once.
Result<bool> SchemaBranches::possible(Branch& branch, int depth) {
    if (!document_.budget().take(4)) return too_much_work();
    if (branch.listed) return true;
    if (branch.number.nothing()) branch.types &= ~(kWhole | kFractional);
    if (!branch.number.whole) branch.types &= ~kWhole;
    if (!branch.number.fractional) branch.types &= ~kFractional;
    if (branch.min_length > branch.max_length) branch.types &= ~kString;
    if (branch.min_items > branch.max_items) branch.types &= ~kArray;
    if ((branch.types & kObject) != 0) {
        bool fits = branch.min_members <= branch.max_members && branch.required.size() <= branch.max_members;
        for (size_t i = 0; fits && i < branch.required.size(); ++i) {
            const std::string& name = branch.required[i];
            if (branch.forbidden.contains(name)) {
                fits = false;
                break;
            }
            if (!document_.budget().take(16 + 2 * branch.members.size())) return too_much_work();
            Term term;
            TRY(add_member(branch, name, term));
            if (impossible(term)) contradiction_ = format("'{}' is required and not allowed", printable(name));
            fits = !impossible(term) && (depth >= kMaxLook || term.empty() || !TRY(of(term, depth + 1))->empty());
        }
        if (!fits) branch.types &= ~kObject;
    }
    return branch.types != 0;
}

Status SchemaBranches::apply(const Literal& literal, List& branches, int depth) {
    if (branches.empty()) return {};
    if (!document_.budget().take(branches.size() * 4)) return too_much_work();
    const Json& schema = *TRY(document_.resolved(literal.schema));
    const Literal resolved{&schema, literal.negated};
    if (schema.is_boolean()) {
        if (schema.get<bool>() == literal.negated) branches.clear();
        return {};
    }
    if (!schema.is_object()) {
        return fail(Code::invalid_argument, "the schema at {} must be an object",
                    printable(document_.path_of(&schema), 200));
    }
    // What is only true if it is true is false.
    if (std::ranges::find(active_, resolved) != active_.end()) {
        branches.clear();
        return {};
    }
    if (active_.size() == kMaxApplied) return fail(Code::limit, "the schema refers to itself in too many steps");
    active_.push_back(resolved);
    negations_ += literal.negated ? 1 : 0;
    const Status done =
        literal.negated ? apply_negated(schema, branches, depth) : apply_object(schema, branches, depth);
    negations_ -= literal.negated ? 1 : 0;
    active_.pop_back();
    return done;
}

Status SchemaBranches::apply_object(const Json& schema, List& branches, int depth) {
    // Listed values are checked against the whole term in the end; nothing else needs to be said about them.
    List listed;
    const auto set_aside = [&] {
        const auto first = std::ranges::partition(branches, [](const Branch& branch) { return !branch.listed; });
        std::ranges::move(first, std::back_inserter(listed));
        branches.erase(first.begin(), first.end());
    };
    set_aside();
    if (is_nullable_choice(schema)) {
        List nothing_but_null = TRY(copy_of(branches));
        narrow(nothing_but_null, kNull);
        TRY(copy_into(listed, std::move(nothing_but_null)));
    }
    TRY(limit(schema, branches));
    set_aside();
    for (const auto& [keyword, value] : schema.items()) {
        if (branches.empty()) break;
        if (keyword == "$ref" || keyword == "$recursiveRef" || keyword == "$dynamicRef") {
            if (!value.is_string()) return document_.wrong(schema, keyword, "must be a text");
            if (keyword != "$ref" && (value != Json("#") || !document_.is_one_resource())) {
                return document_.wrong(schema, keyword, "is not supported: use $ref");
            }
            Term target;
            TRY(add(target, *TRY(document_.find(chat::string_of(value)))));
            for (const Literal& literal : target) TRY(apply(literal, branches, depth));
        } else if (keyword == "allOf") {
            if (!value.is_array() || value.empty()) {
                return document_.wrong(schema, keyword, "must be a list of at least one schema");
            }
            for (const Json& one : value) TRY(apply({&one, false}, branches, depth));
        } else if (keyword == "properties" || keyword == "patternProperties" || keyword == "additionalProperties") {
            // Said together, where the first of them stands.
            const auto before = [&](const char* other) {
                for (const auto& [word, ignored] : schema.items()) {
                    if (word == keyword) return false;
                    if (word == other) return true;
                }
                return false;
            };
            if (before("properties") || before("patternProperties") || before("additionalProperties")) continue;
            TRY(limit_members(schema, branches));
        } else if (limits_elsewhere(keyword, value)) {
            return document_.wrong(schema, keyword, "is not supported");
        }
        set_aside();
    }
    for (const auto& [keyword, value] : schema.items()) {
        if (branches.empty()) break;
        if (keyword == "anyOf") {
            TRY(any_of(value, branches, depth));
        } else if (keyword == "oneOf") {
            TRY(one_of(value, branches, depth));
        } else if (keyword == "not") {
            Term term;
            TRY(add(term, value, true));
            for (const Literal& literal : term) TRY(apply(literal, branches, depth));
        } else if (keyword == "if") {
            TRY(condition(schema, branches, depth));
        } else if (keyword == "dependencies" || keyword == "dependentRequired" || keyword == "dependentSchemas") {
            TRY(dependencies(schema, keyword.c_str(), branches, depth));
        }
        set_aside();
    }
    if (const Json& closed = chat::member(schema, "unevaluatedItems"); !closed.is_null() && closed != Json(true)) {
        return document_.wrong(schema, "unevaluatedItems", "is not supported: use items");
    }
    if (const Json& closed = chat::member(schema, "unevaluatedProperties"); !closed.is_null() && closed != Json(true)) {
        if (closed != Json(false) || active_.size() > 1 || !alone_) {
            return document_.wrong(schema, "unevaluatedProperties",
                                   "is supported only as false, and only where nothing else is combined with it");
        }
        for (Branch& branch : branches) branch.members.push_back({.closed = true});
    }
    return copy_into(branches, std::move(listed));
}

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

std::optional<std::vector<const Json*>> SchemaBranches::all_listed(const Json& list) {
    std::vector<const Json*> values;
    for (const Json& one : list) {
        const auto target = document_.resolved(&one);
        if (!target || !(*target)->is_object()) return std::nullopt;
        if (const auto expected = (*target)->find("const"); expected != (*target)->end()) {
            values.push_back(&*expected);
            continue;
        }
        const Json& more = chat::member(**target, "enum");
        if (!more.is_array()) return std::nullopt;
        for (const Json& value : more) values.push_back(&value);
    }
    return values;
}

Status SchemaBranches::any_of(const Json& list, List& branches, int depth) {
    if (!list.is_array() || list.empty()) {
        return fail(Code::invalid_argument, "'anyOf' of the schema at {} must be a list of at least one schema",
                    printable(document_.path_of(&list), 200));
    }
    if (const auto values = all_listed(list)) {
        for (Branch& branch : branches) {
            branch.listed = true;
            branch.values = *values;
        }
        return {};
    }
    List out;
    for (const Json& one : list) {
        if (!document_.budget().take(branches.size() * 16)) return too_much_work();
        List copy = TRY(copy_of(branches));
        TRY(apply({TRY(document_.resolved(&one)), false}, copy, depth));
        TRY(copy_into(out, std::move(copy)));
    }
    branches = std::move(out);
    return {};
}

Status SchemaBranches::one_of(const Json& list, List& branches, int depth) {
    if (!list.is_array() || list.empty()) {
        return fail(Code::invalid_argument, "'oneOf' of the schema at {} must be a list of at least one schema",
                    printable(document_.path_of(&list), 200));
    }
    if (const auto values = all_listed(list)) {
        for (Branch& branch : branches) {
            branch.listed = true;
            branch.values = *values;
        }
        return {};
    }
    std::vector<const Json*> targets;
    for (const Json& one : list) targets.push_back(TRY(document_.resolved(&one)));
    List out;
    for (size_t i = 0; i < targets.size(); ++i) {
        if (!document_.budget().take(branches.size() * 16)) return too_much_work();
        List copy = TRY(copy_of(branches));
        TRY(apply({targets[i], false}, copy, depth));
        TRY(prune(copy, depth));
        for (size_t k = 0; k < targets.size() && !copy.empty(); ++k) {
            if (k == i || TRY(quickly_exclude(*targets[i], *targets[k]))) continue;
            // Where both cannot hold, that one does not need not be said.
            List both = TRY(copy_of(copy));
            TRY(apply({targets[k], false}, both, depth));
            TRY(prune(both, depth));
            if (both.empty()) continue;
            TRY(apply({targets[k], true}, copy, depth));
            TRY(prune(copy, depth));
        }
        TRY(copy_into(out, std::move(copy)));
    }
    branches = std::move(out);
    return {};
}

// Whether two schemas obviously have no value in common: by their types, or by a member that both require.
Result<bool> SchemaBranches::quickly_exclude(const Json& a, const Json& b) {
    if (!document_.budget().take(8)) return too_much_work();
    if (!a.is_object() || !b.is_object()) return false;
    const auto types = [&](const Json& schema) -> Result<uint8_t> {
        const Json& type = chat::member(schema, "type");
        if (type.is_null()) return uint8_t(kAllTypes);
        const bool or_null = chat::member(schema, "nullable") == Json(true);
        return uint8_t(TRY(document_.types_named(type, schema)) | (or_null ? kNull : 0));
    };
    const auto a_types = TRY(types(a));
    const auto b_types = TRY(types(b));
    if ((a_types & b_types) == 0) return true;
    if ((a_types & b_types) != kObject) return false;
    const Json& a_members = chat::member(a, "properties");
    const Json& b_members = chat::member(b, "properties");
    if (!a_members.is_object() || !b_members.is_object()) return false;
    const auto values = [](const Json& schema) {
        std::vector<const Json*> out;
        if (const auto found = schema.find("const"); schema.is_object() && found != schema.end()) {
            out.push_back(&*found);
        } else if (const Json& list = chat::member(schema, "enum"); list.is_array()) {
            for (const Json& one : list) out.push_back(&one);
        }
        return out;
    };
    const Json& required = chat::member(a, "required");
    if (!required.is_array()) return false;
    for (const Json& entry : required) {
        if (!document_.budget().take()) return too_much_work();
        const std::string name(chat::string_of(entry));
        if (!has_name(chat::member(b, "required"), name)) continue;
        const auto mine = a_members.find(name);
        const auto other = b_members.find(name);
        if (mine == a_members.end() || other == b_members.end()) continue;
        const auto mine_values = values(*mine);
        const auto other_values = values(*other);
        if (mine_values.empty() || other_values.empty()) continue;
        if (!document_.budget().take(mine_values.size() * other_values.size())) return too_much_work();
        const bool common = std::ranges::any_of(mine_values, [&](const Json* x) {
            return std::ranges::any_of(other_values, [&](const Json* y) { return same_json(*x, *y); });
        });
        if (!common) return true;
    }
    return false;
}

Status SchemaBranches::condition(const Json& schema, List& branches, int depth) {
    if (!schema.contains("then") && !schema.contains("else")) return {};
    List met = TRY(copy_of(branches));
    TRY(apply({&schema["if"], false}, met, depth));
    if (schema.contains("then")) TRY(apply({&schema["then"], false}, met, depth));
    TRY(apply({&schema["if"], true}, branches, depth));
    if (schema.contains("else")) TRY(apply({&schema["else"], false}, branches, depth));
    TRY(copy_into(branches, std::move(met)));
    return prune(branches, depth);
}

Status SchemaBranches::dependencies(const Json& schema, const char* keyword, List& branches, int depth) {
    const Json& list = schema[keyword];
    if (!list.is_object()) return document_.wrong(schema, keyword, "must be an object");
    for (const auto& [name, needed] : list.items()) {
        List out;
        for (Branch& branch : branches) {
            if (!document_.budget().take(16)) return too_much_work();
            branch.about |= kObject;
            // Without the member nothing is needed; values of other types have none.
            if (std::ranges::find(branch.required, name) == branch.required.end()) {
                List without = TRY(copy_of({branch}));
                without[0].forbidden.insert(name);
                TRY(copy_into(out, std::move(without)));
            } else if ((branch.types & ~kObject) != 0) {
                List others = TRY(copy_of({branch}));
                others[0].types &= ~kObject;
                TRY(copy_into(out, std::move(others)));
            }
            if ((branch.types & kObject) == 0 || branch.forbidden.contains(name)) continue;
            branch.types = kObject;
            branch.require(name);
            List with = {std::move(branch)};
            if (needed.is_array() || needed.is_string()) {
                const Json names = needed.is_array() ? needed : Json::array({needed});
                for (const Json& other : names) {
                    if (!other.is_string()) return document_.wrong(schema, keyword, "must hold lists of names");
                    with[0].require(other.get<std::string>());
                }
            } else {
                TRY(apply({&needed, false}, with, depth));
            }
            TRY(copy_into(out, std::move(with)));
        }
        branches = std::move(out);
        TRY(prune(branches, depth));
    }
    return {};
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
    if (keyword == "if") {
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
