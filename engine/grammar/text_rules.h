// Texts of a language, as nodes of a program: every character as the dialect writes it.
#pragma once

#include <map>

#include "grammar/json_rules.h"
#include "grammar/language.h"

namespace lapidary::grammar {

class TextRules {
  public:
    TextRules(ProgramBuilder& builder, JsonRules& rules) : b_(builder), rules_(rules) {}

    // A string of the language, quotes included.
    NodeId string(const Language& language, NodeId next);
    // A name of a member: in a call without quotes, and made of letters, digits and _ only.
    NodeId key(const Language& language, NodeId next);

  private:
    NodeId text(const Language& language, NodeId end, bool bare);
    NodeId character(const CharSet& set);
    NodeId beyond_ascii(const CharSet& set);
    NodeId escaped(const CharSet& set);

    ProgramBuilder& b_;
    JsonRules& rules_;
    std::map<CharSet, NodeId> characters_;  // each ends in finish()
};

}  // namespace lapidary::grammar
