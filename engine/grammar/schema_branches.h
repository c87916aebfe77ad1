// A schema as a choice of branches: each says plainly, for every type, what a value of it may be.
//
// A Term is a set of schemas that must hold, or must not. All that a term says at its own level ($ref, allOf, anyOf, oneOf, not,
// if, dependencies and every other keyword) is carried out until nothing but limits of the six types is left; what is said
// about items and members stays a term, to be carried out when it is needed. A value is in a branch only if it satisfies
// the term. Leaving a branch out makes the language smaller, never wrong: that is done where a keyword has no complement.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "grammar/number_rules.h"
#include "grammar/schema_check.h"
#include "grammar/schema_document.h"

namespace lapidary::grammar {

struct Literal {
    const Json* schema = nullptr;
    bool negated = false;
    auto operator<=>(const Literal&) const = default;
};
using Term = std::vector<Literal>;  // in the order they were met

// What one schema says about members (or items) that another may limit further.
struct MemberGroup {
    const Json* properties = nullptr;
    const Json* patterns = nullptr;
    const Json* others = nullptr;
    bool closed = false;  // unevaluatedProperties: the others are forbidden, unless a later group declares them
    bool hidden = false;  // said inside `not`: it declares nothing
};
struct ItemGroup {
    const Json* first = nullptr;
    const Json* rest = nullptr;
};
struct Contained {
    Term term;
    uint32_t from = 0;  // the first item that counts
};
struct TextLimit {
    enum class Kind : uint8_t { pattern, format } kind = Kind::pattern;
    bool negated = false;
    std::string_view text;
    auto operator<=>(const TextLimit&) const = default;
};

struct Branch {
    uint8_t types = kAllTypes;
    bool typed = false;  // the schema names its types
    uint8_t about = 0;   // the types its other keywords are about
    bool listed = false;
    std::vector<const Json*> values;  // listed: one of these

    uint32_t min_length = 0;
    uint32_t max_length = kEndless;
    std::vector<TextLimit> texts;
    std::vector<const Json*> unlike;  // texts it must not be

    NumberLimits number;

    uint32_t min_items = 0;
    uint32_t max_items = kEndless;
    bool unique = false;
    std::vector<ItemGroup> items;
    std::map<uint32_t, Term> item_terms;  // more about single items
    std::vector<Contained> contains;

    uint32_t min_members = 0;
    uint32_t max_members = kEndless;
    std::vector<MemberGroup> members;
    std::vector<std::string> required;
    std::set<std::string> forbidden;
    std::map<std::string, Term> member_terms;  // more about single members
    Term names;

    void require(const std::string& name);
    // Members that nobody declares are forbidden.
    [[nodiscard]] bool closed() const { return std::ranges::any_of(members, &MemberGroup::closed); }
    // What a copy costs, in steps.
    [[nodiscard]] uint64_t weight() const;
};

// Leaves out what is of other types.
void narrow(std::vector<Branch>& branches, uint8_t types);

class SchemaBranches {
  public:
    explicit SchemaBranches(const SchemaDocument& document) : document_(document), check_(document) {}

    using Branches = std::shared_ptr<const std::vector<Branch>>;
    Result<Branches> of(const Term& term) { return of(term, 0); }

    // Adds to a term. A term that nothing satisfies has a literal that says so.
    Status add(Term& term, const Json& schema, bool negated = false);
    Status add(Term& term, const Literal& literal);
    [[nodiscard]] static bool impossible(const Term& term);
    // Adds what a branch says about a member. False: it may be any of the additional ones, and patterns have not been looked at.
    Status add_member(const Branch& branch, const std::string& name, Term& term);
    // Whether a member that no `properties` names is declared all the same, where all others are forbidden.
    Result<bool> declares_by_pattern(const Branch& branch, const std::string& name) const;
    Status add_item(const Branch& branch, size_t index, Term& term);
    // The listed values that satisfy a term.
    Result<std::vector<const Json*>> listed(const Term& term, const std::vector<const Json*>& values);

    // A keyword whose complement was needed and could not be had; empty if there was none.
    [[nodiscard]] const std::string& left_out() const { return left_out_; }
    // Of an object that cannot be, why; empty if there was none.
    [[nodiscard]] const std::string& contradiction() const { return contradiction_; }

  private:
    using List = std::vector<Branch>;
    Result<Branches> of(const Term& term, int depth);
    Status apply(const Literal& literal, List& branches, int depth);
    Status apply_object(const Json& schema, List& branches, int depth);
    Status apply_negated(const Json& schema, List& branches, int depth);
    Status negate_keyword(const Json& schema, const std::string& keyword, const Json& value, List& branches, int depth);
    Status negate_others(const Json& schema, const Json& value, List& branches);
    Status limit(const Json& schema, List& branches);
    Status limit_number(const Json& schema, List& branches);
    Status limit_array(const Json& schema, List& branches);
    Status limit_members(const Json& schema, List& branches);
    Status any_of(const Json& list, List& branches, int depth);
    Status one_of(const Json& list, List& branches, int depth);
    Status condition(const Json& schema, List& branches, int depth);
    Status dependencies(const Json& schema, const char* keyword, List& branches, int depth);
    Result<bool> quickly_exclude(const Json& a, const Json& b);
    std::optional<std::vector<const Json*>> all_listed(const Json& list);
    Result<bool> possible(Branch& branch, int depth);
    Status prune(List& branches, int depth);
    Status copy_into(List& out, List&& more);
    Result<List> copy_of(const List& branches);
    Result<uint32_t> count(const Json& schema, std::string_view keyword, const Json& value) const;
    const Json& made(Json schema);
    void leave_out(const Json& schema, std::string_view keyword);

    const SchemaDocument& document_;
    SchemaCheck check_;
    std::map<Term, Branches> known_;
    std::vector<Literal> active_;
    bool alone_ = true;  // the term has no other literal
    int negations_ = 0;  // around what is being applied
    std::vector<std::unique_ptr<Json>> made_;
    std::string left_out_;
    std::string contradiction_;
};

}  // namespace lapidary::grammar
