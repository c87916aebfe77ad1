// The parts every JSON text is made of, as nodes of a program.
//
// Layout is bounded: between two elements there may be a space, or a line break and an indentation. Nothing else is
// ever needed for JSON on one line or neatly over several, and a model cannot get lost in blanks.
#pragma once

#include <string>

#include "chat/json.h"
#include "grammar/program.h"

namespace lapidary::grammar {

// Digits of a whole number (as 64 bits have), of a fraction (as a double needs), and of an exponent (so that it is finite).
inline constexpr uint32_t kWholeDigits = 19;
inline constexpr uint32_t kFractionDigits = 18;
inline constexpr uint32_t kExponentDigits = 2;
// Two numbers of so many digits that differ in decimal differ as doubles too.
inline constexpr uint32_t kExactDigits = 15;

// How values are written: as JSON, or as in calls of tools (chat/value_syntax.h), where strings stand between <|"|> tokens
// without escapes, keys are bare, and there is no layout.
enum class Dialect : uint8_t { json, call };

// Names the model makes up in a call: what a reader cannot take for anything else.
inline constexpr uint32_t kMaxBareName = 64;
inline constexpr ByteSet kBareName = kDigits | ByteSet::range('a', 'z') | ByteSet::range('A', 'Z') | ByteSet::of("_");

// Stands for the token <|"|>: a byte that occurs in no text.
inline constexpr std::string_view kQuoteByte = "\xFF";

class JsonRules {
  public:
    explicit JsonRules(ProgramBuilder& builder, Dialect dialect = Dialect::json) : b_(builder), dialect_(dialect) {}
    [[nodiscard]] Dialect dialect() const { return dialect_; }

    // One character of a string, as itself or escaped; ends in finish(). Not a surrogate without its other half.
    NodeId character();
    // A character beyond ASCII, in well-formed UTF-8. `separators`: also U+2028 and U+2029, which end lines.
    NodeId beyond_ascii(bool separators, NodeId next);
    // Such a character as the code of an escape, after "\\u"; ends in finish().
    NodeId code_beyond_ascii();

    // Around a string.
    NodeId quote(NodeId next) { return b_.literal(dialect_ == Dialect::json ? "\"" : kQuoteByte, next); }
    // The name of a member, and any name.
    NodeId key(const std::string& name, NodeId next);
    NodeId any_key(NodeId next);
    // A value, letter by letter.
    [[nodiscard]] std::string text_of(const chat::Json& value) const;

    // The same with layout, where there may be some; ends in finish().
    NodeId value_like(const chat::Json& value) { return value_like(value, ProgramBuilder::finish()); }

    // A string of that many characters, quotes included.
    NodeId string(uint32_t min, uint32_t max, NodeId next);
    // Any characters of a string.
    NodeId free_text(NodeId next) { return b_.loop(character(), next, 0, kUnlimited, true); }
    NodeId integer(NodeId next);
    NodeId number(NodeId next);
    // The same from 0 on.
    NodeId whole_from_zero(NodeId next);
    NodeId number_from_zero(NodeId next);
    NodeId boolean(NodeId next) { return b_.any_of({"true", "false"}, next); }
    NodeId null(NodeId next) { return b_.literal("null", next); }

    // Between elements, and after a colon.
    NodeId blanks(NodeId next) { return dialect_ == Dialect::json ? b_.call(layout(), next) : next; }
    NodeId colon(NodeId next);
    NodeId comma(NodeId next) { return b_.literal(",", blanks(next)); }

    // "[" between min and max elements "]"; `element` ends in finish().
    NodeId array_of(NodeId element, uint32_t min, uint32_t max, NodeId next);

    // Any value, any object; both end in finish().
    NodeId any_value();
    NodeId any_object();

  private:
    NodeId layout();
    NodeId value_like(const chat::Json& value, NodeId next);
    NodeId digits(uint32_t min, uint32_t max, NodeId next);
    NodeId after_whole(NodeId next);

    ProgramBuilder& b_;
    Dialect dialect_;
    NodeId character_ = 0;
    NodeId code_ = 0;
    NodeId layout_ = 0;
    NodeId digit_ = 0;
    NodeId any_value_ = 0;
    NodeId any_object_ = 0;
};

}  // namespace lapidary::grammar
