// The parts every JSON text is made of, as nodes of a program.
//
// Layout is bounded: between two elements there may be a space, or a line break and an indentation. Nothing else is
// ever needed for JSON on one line or neatly over several, and a model cannot get lost in blanks.
#pragma once

#include "grammar/program.h"

namespace lapidary::grammar {

// Digits of a whole number (so that it is exact in a double), of a fraction, and of an exponent (so that it is finite).
inline constexpr uint32_t kWholeDigits = 15;
inline constexpr uint32_t kFractionDigits = 15;
inline constexpr uint32_t kExponentDigits = 2;

// Stands for the token <|"|> in programs for calls (see AnswerFormat): a byte that occurs in no text.
inline constexpr std::string_view kQuoteByte = "\xFF";

class JsonRules {
  public:
    explicit JsonRules(ProgramBuilder& builder) : b_(builder) {}

    // One character of a string, as itself or escaped; ends in finish(). Not a surrogate without its other half.
    NodeId character();
    // A character beyond ASCII, in well-formed UTF-8. `separators`: also U+2028 and U+2029, which end lines.
    NodeId beyond_ascii(bool separators, NodeId next);

    // A string of that many characters, quotes included.
    NodeId string(uint32_t min, uint32_t max, NodeId next);
    // Any characters of a string.
    NodeId free_text(NodeId next) { return b_.loop(character(), next, 0, kUnlimited, true); }
    NodeId integer(NodeId next);
    NodeId number(NodeId next);
    NodeId boolean(NodeId next) { return b_.any_of({"true", "false"}, next); }
    NodeId null(NodeId next) { return b_.literal("null", next); }

    // Between elements, and after a colon.
    NodeId blanks(NodeId next) { return b_.call(layout(), next); }
    NodeId colon(NodeId next) { return b_.literal(":", b_.optional(b_.literal(" ", next), next)); }
    NodeId comma(NodeId next) { return b_.literal(",", blanks(next)); }

    // "[" between min and max elements "]"; `element` ends in finish().
    NodeId array_of(NodeId element, uint32_t min, uint32_t max, NodeId next);

    // Any value, any object; both end in finish().
    NodeId any_value();
    NodeId any_object();

  private:
    NodeId layout();
    NodeId digits(uint32_t min, uint32_t max, NodeId next);

    ProgramBuilder& b_;
    NodeId character_ = 0;
    NodeId layout_ = 0;
    NodeId digit_ = 0;
    NodeId any_value_ = 0;
    NodeId any_object_ = 0;
};

}  // namespace lapidary::grammar
