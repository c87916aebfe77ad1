#include "grammar/schema_branches.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace lapidary::grammar {
namespace {

constexpr size_t kMaxBranches = 2048;
constexpr int kMaxApplied = 100;  // schemas inside one another at one level
constexpr int kMaxLook = 4;       // levels that are looked at to see that a branch is empty

const Json kFalse = false;

bool has_name(const Json& list, const std::string& name) {
    return list.is_array() && std::ranges::any_of(list, [&](const Json& one) { return chat::string_of(one) == name; });
}

}  // namespace

void narrow(std::vector<Branch>& branches, uint8_t types) {
    for (Branch& branch : branches) branch.types &= types;
    std::erase_if(branches, [](const Branch& branch) { return branch.types == 0 && !branch.listed; });
}

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
        } else if (keyword == "if" && document_.has_conditions()) {
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

}  // namespace lapidary::grammar
