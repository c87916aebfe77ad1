#include "grammar/schema_compiler.h"

#include <algorithm>
#include <array>

#include "chat/text.h"
#include "grammar/other_name.h"

namespace lapidary::grammar {
namespace {

// Longer texts than this are not written where a pattern must be followed as well.
constexpr uint32_t kMaxPatternLength = 4096;
// Counts of items and members that are told apart one by one.
constexpr uint32_t kMaxCounted = 1024;
constexpr size_t kMaxContains = 3;
// Of members times counts.
constexpr size_t kMaxMemberNodes = 200'000;

const Json kNever = false;

// Words that limit nothing where they stand beside anyOf or oneOf.
bool is_note(std::string_view keyword) {
    constexpr auto kNotes = std::to_array<std::string_view>(
        {"title", "description", "default", "example", "examples", "$schema", "$comment", "deprecated", "readOnly",
         "writeOnly", "$defs", "definitions", "$id", "id", "discriminator"});
    return std::ranges::find(kNotes, keyword) != kNotes.end();
}

}  // namespace

Result<NodeId> SchemaCompiler::start() {
    Term term;
    TRY(branches_.add(term, document_.root()));
    return value(term);
}

Result<bool> SchemaCompiler::work(uint64_t steps) {
    const uint64_t until = budget_.taken() + steps;
    while (!waiting_.empty() && budget_.taken() < until) {
        const Waiting next = std::move(waiting_.front());
        waiting_.pop_front();
        const size_t before = b_.size();
        b_.keep(next.promised, TRY(body(next.term)));
        if (!budget_.take(8 + (b_.size() - before))) return too_much_work();
        if (b_.full()) waiting_.clear();  // the builder will say so
    }
    return !waiting_.empty();
}

NodeId SchemaCompiler::value(const Term& term) {
    if (term.empty()) return rules_.any_value();
    if (SchemaBranches::impossible(term)) return b_.nothing();
    Term key = term;
    std::ranges::sort(key);
    const auto [it, added] = made_.try_emplace(std::move(key), 0);
    if (added) {
        it->second = b_.promise();
        waiting_.push_back({term, it->second});
    }
    return it->second;
}

Result<NodeId> SchemaCompiler::body(const Term& term) {
    if (const auto choice = TRY(choice_of_schemas(term))) return *choice;
    const auto branches = TRY(branches_.of(term));
    std::vector<NodeId> ways;
    std::vector<std::string> values;
    for (const Branch& one : *branches) {
        if (one.listed) {
            for (const Json* value : one.values) {
                if (!budget_.take(1 + value->size())) return too_much_work();
                if (value->is_structured()) {
                    ways.push_back(rules_.value_like(*value));
                } else {
                    values.push_back(rules_.text_of(*value));
                    // 2.0 is 2, as most would write it.
                    if (value->is_number_float() && values.back().ends_with(".0")) {
                        values.push_back(values.back().substr(0, values.back().size() - 2));
                    }
                }
            }
        } else {
            ways.push_back(TRY(branch(one)));
        }
    }
    if (!values.empty()) ways.push_back(b_.any_of(std::move(values), ProgramBuilder::finish()));
    if (ways.empty() && !branches_.left_out().empty()) {
        return fail(Code::invalid_argument, "{} is not supported where it must not hold (in not, oneOf, if)",
                    branches_.left_out());
    }
    return ways.size() == 1 ? ways[0] : b_.choice(ways);
}

// Alternatives and nothing else need not be looked into.
Result<std::optional<NodeId>> SchemaCompiler::choice_of_schemas(const Term& term) {
    if (term.size() != 1 || term[0].negated || !term[0].schema->is_object()) return std::nullopt;
    const Json& schema = *term[0].schema;
    const Json& list = chat::member(schema, "anyOf");
    if (!list.is_array() || list.empty()) return std::nullopt;
    for (const auto& [keyword, ignored] : schema.items()) {
        if (keyword != "anyOf" && !is_note(keyword)) return std::nullopt;
    }
    std::vector<NodeId> ways;
    for (const Json& one : list) {
        Term inner;
        TRY(branches_.add(inner, one));
        ways.push_back(value(inner));
    }
    return b_.choice(ways);
}

Result<NodeId> SchemaCompiler::branch(const Branch& branch) {
    const NodeId done = ProgramBuilder::finish();
    uint8_t types = branch.types;
    // Whoever speaks of members means an object, though the keyword would let everything else through.
    if (!branch.typed && branch.about != 0) types &= branch.about;
    std::vector<NodeId> ways;
    if ((types & kObject) != 0) ways.push_back(TRY(object(branch)));
    if ((types & kArray) != 0) ways.push_back(TRY(array(branch)));
    if ((types & kString) != 0) ways.push_back(TRY(string(branch)));
    if ((types & (kWhole | kFractional)) != 0) ways.push_back(TRY(number(branch, types)));
    if ((types & kBoolean) != 0) ways.push_back(rules_.boolean(done));
    if ((types & kNull) != 0) ways.push_back(rules_.null(done));
    return ways.size() == 1 ? ways[0] : b_.choice(ways);
}

Result<NodeId> SchemaCompiler::number(const Branch& branch, uint8_t types) {
    NumberLimits limits = branch.number;
    limits.whole = limits.whole && (types & kWhole) != 0;
    limits.fractional = limits.fractional && (types & kFractional) != 0;
    if (const auto known = numbers_.find(limits); known != numbers_.end()) return known->second;
    const NodeId node = TRY(number_within(b_, rules_, limits, budget_));
    numbers_.emplace(std::move(limits), node);
    return node;
}

// --- Texts ---

Result<Language> SchemaCompiler::language(const Branch& branch) {
    Language out = Language::anything();
    bool whole = true;  // nobody asks: a text is written, not judged
    for (const TextLimit& limit : branch.texts) {
        const TextFormat* format = limit.kind == TextLimit::Kind::format ? find_text_format(limit.text) : nullptr;
        if (format != nullptr) {
            out = limit.negated ? TRY(out.without(document_.outer(*format), budget_))
                                : TRY(out.both_or_shorter(document_.inner(*format), budget_, whole));
            continue;
        }
        const auto& pattern = document_.pattern(limit.text);
        if (!pattern) return std::unexpected(pattern.error());
        out = limit.negated ? TRY(out.without(pattern->language, budget_))
                            : TRY(out.both_or_shorter(pattern->language, budget_, whole));
    }
    if (!branch.unlike.empty()) {
        std::vector<std::string> texts;
        for (const Json* text : branch.unlike) texts.emplace_back(chat::string_of(*text));
        out = TRY(out.without(TRY(Language::of_texts(std::move(texts), budget_)), budget_));
    }
    const auto lengths = out.lengths();
    const bool long_enough = lengths.least >= branch.min_length;
    const bool short_enough = lengths.most <= branch.max_length;
    if (out.empty() || (long_enough && short_enough)) return out;
    const uint32_t min = long_enough ? 0 : branch.min_length;
    uint32_t max = short_enough ? kEndless : branch.max_length;
    // A text that long is not written anyway, so its end need not be counted down to.
    if (max != kEndless) max = std::min(max, std::max(min, kMaxPatternLength));
    return out.both_or_shorter(TRY(Language::of_length(min, max, budget_)), budget_, whole);
}

// The texts that satisfy a term.
Result<Language> SchemaCompiler::language(const Term& term) {
    if (term.empty()) return Language::anything();
    const auto branches = TRY(branches_.of(term));
    Language out = Language::nothing();
    for (const Branch& branch : *branches) {
        if (branch.listed) {
            std::vector<std::string> texts;
            for (const Json* value : branch.values) {
                if (value->is_string()) texts.emplace_back(chat::string_of(*value));
            }
            out = TRY(out.either(TRY(Language::of_texts(std::move(texts), budget_)), budget_));
        } else if ((branch.types & kString) != 0) {
            out = TRY(out.either(TRY(language(branch)), budget_));
        }
    }
    return out;
}

Result<NodeId> SchemaCompiler::string(const Branch& branch) {
    const NodeId done = ProgramBuilder::finish();
    // The same limits give the same node.
    std::string key = format("{} {}", branch.min_length, branch.max_length);
    for (const TextLimit& limit : branch.texts) {
        key += format("\n{}{}{}", limit.negated ? "!" : "", limit.kind == TextLimit::Kind::pattern ? "p" : "f",
                      limit.text);
    }
    for (const Json* text : branch.unlike) key += "\n-" + chat::json_text(*text);
    if (const auto known = strings_.find(key); known != strings_.end()) return known->second;
    const bool plain = branch.texts.empty() && branch.unlike.empty();
    const NodeId node =
        plain ? rules_.string(branch.min_length, branch.max_length, done) : texts_.string(TRY(language(branch)), done);
    strings_.emplace(std::move(key), node);
    return node;
}

// --- Arrays ---

Result<NodeId> SchemaCompiler::array(const Branch& branch) {
    const NodeId close = b_.literal("]", ProgramBuilder::finish());
    if (!branch.unique || branch.max_items <= 1) {
        return b_.literal("[", TRY(array_with(branch, close, rules_.blanks(close))));
    }
    // Of few values there cannot be many different ones.
    Term item;
    TRY(branches_.add_item(branch, size_t(1) << 31, item));
    Branch distinct = branch;
    if (const auto values = TRY(values_of(item)); values != kEndless) {
        const bool uniform =
            std::ranges::all_of(branch.items, [](const ItemGroup& group) { return group.first == nullptr; });
        if (uniform) distinct.max_items = std::min(distinct.max_items, values);
    }
    return b_.open_distinct(TRY(array_with(distinct, close, rules_.blanks(close))));
}

// How many values satisfy a term; kEndless when that is not seen at once.
Result<uint32_t> SchemaCompiler::values_of(const Term& term) {
    if (term.empty()) return kEndless;
    if (SchemaBranches::impossible(term)) return 0u;
    uint32_t count = 0;
    for (const Branch& branch : *TRY(branches_.of(term))) {
        if (branch.listed) {
            count += uint32_t(branch.values.size());
            continue;
        }
        if ((branch.types & ~(kNull | kBoolean)) != 0) return kEndless;
        count += ((branch.types & kNull) != 0 ? 1u : 0u) + ((branch.types & kBoolean) != 0 ? 2u : 0u);
    }
    return count;
}

// What follows the bracket. `close`: nothing was written, `end`: something was.
Result<NodeId> SchemaCompiler::array_with(const Branch& branch, NodeId close, NodeId end) {
    uint32_t fixed = 0;
    bool endless = true;  // there may be more than the first items
    for (const ItemGroup& group : branch.items) {
        if (group.first == nullptr) continue;
        fixed = std::max(fixed, uint32_t(group.first->size()));
        // A tuple ends where it was declared to, unless the schema says what else there may be.
        if (group.rest == nullptr && !group.first->empty()) endless = false;
    }
    if (!branch.item_terms.empty()) fixed = std::max(fixed, branch.item_terms.rbegin()->first + 1);
    uint32_t max = branch.max_items;
    uint32_t min = branch.min_items;
    if (!endless && min <= fixed) max = std::min(max, fixed);
    if (max < min) return b_.nothing();
    fixed = std::min(fixed, max);
    if (fixed > kMaxCounted || branch.contains.size() > kMaxContains) {
        return fail(Code::limit, "the schema limits the items of an array in too complicated a way");
    }
    Term rest;
    TRY(branches_.add_item(branch, size_t(1) << 31, rest));
    const bool more = max > fixed && !SchemaBranches::impossible(rest);

    if (branch.contains.empty()) {
        NodeId next = end;
        if (more) {
            next = b_.loop(rules_.comma(value(rest)), end, min > fixed ? min - fixed : 0,
                           max == kEndless ? kUnlimited : max - fixed);
            if (fixed == 0) {
                const NodeId elements =
                    b_.call(value(rest), b_.loop(rules_.comma(value(rest)), end, min > 0 ? min - 1 : 0,
                                                 max == kEndless ? kUnlimited : max - 1));
                return rules_.blanks(min == 0 ? b_.choice({close, elements}) : elements);
            }
        } else if (min > fixed) {
            return b_.nothing();
        }
        if (fixed == 0) return close;
        for (uint32_t i = fixed; i > 0; --i) {
            Term term;
            TRY(branches_.add_item(branch, i - 1, term));
            next = b_.call(value(term), next);
            if (i > 1) next = rules_.comma(next);
            if (min < i) next = b_.choice({i > 1 ? end : close, next});
        }
        return rules_.blanks(next);
    }

    // Item by item: how many there are, and which of the terms some item must satisfy are still open.
    uint32_t from = fixed;
    for (const Contained& contained : branch.contains) from = std::max(from, contained.from);
    const bool counted = max != kEndless;
    const uint32_t last = std::max({min, from, 1u}) + uint32_t(branch.contains.size());
    const uint32_t limit = counted ? std::min(max, std::max(last, kMaxCounted / 4)) : last;
    if (limit > kMaxCounted) return fail(Code::limit, "the schema counts more items than {}", kMaxCounted);
    const uint32_t all = (1u << branch.contains.size()) - 1;
    // nodes[open]: `index` items were written. Behind the last one told apart it goes on the same way.
    std::vector<NodeId> after(all + 1, b_.nothing());
    std::vector<NodeId> promised(all + 1);
    if (!counted) {
        for (NodeId& node : promised) node = b_.promise();
        after = promised;
    }
    for (uint32_t index = limit + 1; index > 0; --index) {
        const uint32_t written = index - 1;
        std::vector<NodeId> nodes(all + 1);
        for (uint32_t open = 0; open <= all; ++open) {
            std::vector<NodeId> ways;
            if (open == 0 && written >= min) ways.push_back(written == 0 ? close : end);
            const bool may_go_on = !counted || written < limit;
            for (uint32_t met = 0; may_go_on && met <= all; ++met) {
                if ((met & ~open) != 0) continue;
                Term term;
                TRY(branches_.add_item(branch, written < fixed ? written : size_t(1) << 31, term));
                if (written >= fixed && !more) continue;
                bool fits = true;
                for (size_t k = 0; k < branch.contains.size(); ++k) {
                    if ((met >> k & 1) == 0) continue;
                    fits = fits && written >= branch.contains[k].from;
                    std::ranges::copy(branch.contains[k].term, std::back_inserter(term));
                }
                if (!fits || SchemaBranches::impossible(term)) continue;
                const NodeId item = b_.call(value(term), after[open & ~met]);
                ways.push_back(written == 0 ? item : rules_.comma(item));
            }
            nodes[open] = b_.choice(ways);
        }
        if (!counted && index == limit + 1) {
            for (uint32_t open = 0; open <= all; ++open) b_.keep(promised[open], nodes[open]);
        }
        after = std::move(nodes);
        if (!budget_.take(size_t(all + 1) * (all + 1))) return too_much_work();
    }
    return rules_.blanks(after[all]);
}

// --- Objects ---

// Names are bare in a call: those that would not be read back as they are cannot be written.
Status SchemaCompiler::check_name(const std::string& name) const {
    if (name.size() > kMaxNameBytes) {
        return fail(Code::limit, "a property of the schema has a name of more than {} bytes", kMaxNameBytes);
    }
    const bool readable = chat::is_tool_name(name) && name.find(':') == std::string::npos;
    if (rules_.dialect() == Dialect::json || readable) return {};
    return fail(Code::invalid_argument, "the property '{}' of the schema has a name that cannot be written in a call",
                printable(name));
}

Result<NodeId> SchemaCompiler::object(const Branch& branch) {
    // In the order they are declared; what is required but not declared comes after.
    std::vector<std::string> order;
    std::set<std::string> names;
    const auto mention = [&](const std::string& name) {
        if (names.insert(name).second) order.push_back(name);
    };
    const bool closed = branch.closed();
    for (const MemberGroup& group : branch.members) {
        if (group.properties == nullptr || (closed && group.hidden)) continue;
        for (const auto& [name, ignored] : group.properties->items()) mention(name);
    }
    const size_t declared = order.size();
    for (const auto& [name, ignored] : branch.member_terms) mention(name);
    for (const std::string& name : branch.required) mention(name);
    if (!budget_.take(order.size() * 4)) return too_much_work();
    const auto allowed_names = branch.names.empty() ? Language::anything() : TRY(language(branch.names));

    const std::set<std::string> required(branch.required.begin(), branch.required.end());
    std::vector<Member> members;
    for (size_t i = 0; i < order.size(); ++i) {
        const std::string& name = order[i];
        const bool needed = required.contains(name);
        Term term;
        TRY(branches_.add_member(branch, name, term));
        const bool left_out = i >= declared && !needed;  // spoken of, but as one of the others
        bool fits = !branch.forbidden.contains(name) && !SchemaBranches::impossible(term) &&
                    (branch.names.empty() || allowed_names.has(name));
        if (i >= declared && closed) fits = fits && TRY(branches_.declares_by_pattern(branch, name));
        if (!fits || left_out) {
            if (needed) return b_.nothing();
            if (!fits) continue;
        }
        TRY(check_name(name));
        members.push_back({rules_.key(name, rules_.colon(value(term))), needed});
    }
    for (const std::string& name : branch.forbidden) names.insert(name);

    const bool plain = members.empty() && names.empty() && branch.names.empty() && branch.min_members == 0 &&
                       branch.max_members == kEndless &&
                       std::ranges::all_of(branch.members, [](const MemberGroup& group) {
                           return group.patterns == nullptr && group.others == nullptr && !group.closed;
                       });
    if (plain) return rules_.any_object();
    // In a call nothing is added to what is declared.
    const bool may_add = rules_.dialect() == Dialect::json || members.empty();
    const NodeId other = may_add ? TRY(other_pair(branch, names)) : ProgramBuilder::finish();
    const bool open = other != ProgramBuilder::finish();
    return this->members(members, other, open, branch.min_members, branch.max_members);
}

// The names that are not declared, divided by the patterns they match, and what the values of each are.
Result<std::vector<SchemaCompiler::Others>> SchemaCompiler::others(const Branch& branch,
                                                                   const std::set<std::string>& names) {
    std::vector<std::string_view> patterns;
    for (const MemberGroup& group : branch.members) {
        if (group.patterns == nullptr) continue;
        for (const auto& [pattern, ignored] : group.patterns->items()) {
            if (std::ranges::find(patterns, pattern) == patterns.end()) patterns.push_back(pattern);
        }
    }
    const bool call = rules_.dialect() == Dialect::call;
    struct Part {
        std::optional<Language> names;
        std::set<std::string_view> matched;
    };
    std::vector<Part> parts(1);
    if (!patterns.empty() || !branch.names.empty() || call) {
        Language all = TRY(language(branch.names));
        if (!names.empty()) {
            all = TRY(all.without(TRY(Language::of_texts({names.begin(), names.end()}, budget_)), budget_));
        }
        if (call) {
            const auto& bare = document_.pattern("^[A-Za-z0-9_]{1,64}$");
            if (!bare) return std::unexpected(bare.error());
            all = TRY(all.both(bare->language, budget_));
        }
        parts[0].names = std::move(all);
    }
    // Not when the others are forbidden and none of those who may declare a member has a word for these names.
    const bool closed = branch.closed();
    const auto term_of = [&](const Part& part, Term& term) -> Status {
        bool declared = !closed;
        for (const MemberGroup& group : branch.members) {
            bool matched = false;
            if (group.patterns != nullptr) {
                for (const auto& [pattern, schema] : group.patterns->items()) {
                    if (!part.matched.contains(pattern)) continue;
                    matched = true;
                    TRY(branches_.add(term, schema));
                }
            }
            if (!matched && group.others != nullptr) TRY(branches_.add(term, *group.others));
            declared = declared || (!group.hidden && (matched || group.others != nullptr));
        }
        return declared ? Status() : branches_.add(term, kNever);
    };
    for (const std::string_view pattern : patterns) {
        const auto& known = document_.pattern(pattern);
        if (!known) return std::unexpected(known.error());
        std::vector<Part> split;
        for (Part& part : parts) {
            Part inside{TRY(part.names->both(known->language, budget_)), part.matched};
            inside.matched.insert(pattern);
            if (!inside.names->empty()) split.push_back(std::move(inside));
            // What may match all the same is left out.
            if (!known->exact) continue;
            part.names = TRY(part.names->without(known->language, budget_));
            if (!part.names->empty()) split.push_back(std::move(part));
        }
        parts = std::move(split);
        if (parts.size() > 256) return fail(Code::limit, "the schema has too many 'patternProperties'");
    }
    std::vector<Others> out;
    for (Part& part : parts) {
        if (part.names && part.names->empty()) continue;
        Others one{std::move(part.names), {}};
        TRY(term_of(part, one.term));
        if (!SchemaBranches::impossible(one.term)) out.push_back(std::move(one));
    }
    return out;
}

// "name": value, for any member that is not declared; finish() if there can be none.
Result<NodeId> SchemaCompiler::other_pair(const Branch& branch, const std::set<std::string>& names) {
    std::vector<NodeId> ways;
    for (const Others& one : TRY(others(branch, names))) {
        const NodeId after = rules_.colon(value(one.term));
        if (one.names) {
            ways.push_back(texts_.key(*one.names, after));
        } else {
            ways.push_back(other_name(b_, rules_, {names.begin(), names.end()}, after));
        }
    }
    if (ways.empty()) return ProgramBuilder::finish();
    return ways.size() == 1 ? ways[0] : b_.choice(ways);
}

// The members in their order, then the others; between min and max in all.
NodeId SchemaCompiler::members(const std::vector<Member>& members, NodeId other, bool open, uint32_t min,
                               uint32_t max) {
    const NodeId close = b_.literal("}", ProgramBuilder::finish());
    const NodeId end = rules_.blanks(close);
    const auto needed = uint32_t(std::ranges::count_if(members, &Member::required));
    if (min <= needed) min = 0;
    if (!open && max >= members.size()) max = kEndless;
    // How many were written is known up to here; beyond it does not matter.
    const auto most = uint32_t(members.size());
    const uint32_t counts = std::min(most, max != kEndless ? max : std::max(min, 1u));
    if (size_t(counts) * members.size() > kMaxMemberNodes) return b_.nothing();
    // after[n]: n members were written (or more, at the last one).
    std::vector<NodeId> after(counts + 1);
    for (uint32_t n = 0; n <= counts; ++n) {
        std::vector<NodeId> ways;
        if (n >= min) ways.push_back(n == 0 ? close : end);
        if (open && n < max) {
            // Names may come twice, and then count once: of what is missing one can be trusted to be new.
            const uint32_t missing = min > n ? min - n : 0;
            const uint32_t room = max == kEndless ? kUnlimited : max - n;
            if (missing <= 1) {
                const NodeId more = b_.loop(rules_.comma(other), end, 0, room == kUnlimited ? room : room - 1);
                const NodeId first = b_.call(other, more);
                ways.push_back(n == 0 ? first : rules_.comma(first));
            }
        }
        after[n] = ways.size() == 1 ? ways[0] : b_.choice(ways);
    }
    for (size_t i = members.size(); i > 0; --i) {
        const Member& member = members[i - 1];
        std::vector<NodeId> before(counts + 1);
        for (uint32_t n = 0; n <= counts; ++n) {
            // Beyond what is counted there is room, or there is none.
            const bool fits = n < max;
            const uint32_t then = std::min(n + 1, counts);
            const NodeId pair = fits ? b_.call(member.pair, after[then]) : b_.nothing();
            const NodeId with = n == 0 || !fits ? pair : rules_.comma(pair);
            before[n] = member.required ? with : b_.choice({with, after[n]});
        }
        after = std::move(before);
    }
    return b_.literal("{", rules_.blanks(after[0]));
}

}  // namespace lapidary::grammar
