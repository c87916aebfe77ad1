// SchemaCompiler: the terms of a schema, one after the other, as nodes of a program.
//
// Every term becomes a node once, when it is first needed, so schemas may refer to themselves. What is still to be made waits in a
// list: `work` takes a piece of it, so that whoever compiles can do other things in between.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "grammar/json_rules.h"
#include "grammar/schema_branches.h"
#include "grammar/text_rules.h"

namespace lapidary::grammar {

class SchemaCompiler {
  public:
    SchemaCompiler(const Json& root, ProgramBuilder& builder, JsonRules& rules, Budget& budget)
        : document_(root, budget),
          branches_(document_),
          budget_(budget),
          b_(builder),
          rules_(rules),
          texts_(builder, rules) {}

    // What the whole schema describes; ends in finish(). Complete when nothing is left to do.
    Result<NodeId> start();
    // Does some of it. False: nothing is left to do.
    Result<bool> work(uint64_t steps);
    // Of an object that cannot be, why; empty if there was none.
    [[nodiscard]] const std::string& contradiction() const { return branches_.contradiction(); }

  private:
    struct Member {
        NodeId pair = 0;  // "name": value
        bool required = false;
    };
    // Members that are not declared one by one: names of a language, and what their values are.
    struct Others {
        std::optional<Language> names;  // nothing: any but the declared
        Term term;
    };

    NodeId value(const Term& term);
    Result<NodeId> body(const Term& term);
    Result<std::optional<NodeId>> choice_of_schemas(const Term& term);
    Result<NodeId> branch(const Branch& branch);
    Result<NodeId> string(const Branch& branch);
    Result<Language> language(const Branch& branch);
    Result<Language> language(const Term& term);
    Result<NodeId> number(const Branch& branch, uint8_t types);
    Result<NodeId> array(const Branch& branch);
    Result<uint32_t> values_of(const Term& term);
    Result<NodeId> array_with(const Branch& branch, NodeId close, NodeId end);
    Result<NodeId> object(const Branch& branch);
    Result<std::vector<Others>> others(const Branch& branch, const std::set<std::string>& names);
    Result<NodeId> other_pair(const Branch& branch, const std::set<std::string>& names);
    NodeId members(const std::vector<Member>& members, NodeId other, bool open, uint32_t min, uint32_t max);
    Status check_name(const std::string& name) const;

    SchemaDocument document_;
    SchemaBranches branches_;
    Budget& budget_;
    ProgramBuilder& b_;
    JsonRules& rules_;
    TextRules texts_;
    std::map<Term, NodeId> made_;
    struct Waiting {
        Term term;
        NodeId promised;
    };
    std::deque<Waiting> waiting_;
    std::map<NumberLimits, NodeId> numbers_;
    std::map<std::string, NodeId> strings_;
};

}  // namespace lapidary::grammar
