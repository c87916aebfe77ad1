#include "grammar/json_rules.h"

#include "chat/markers.h"
#include "chat/value_syntax.h"

namespace lapidary::grammar {
namespace {

// Sixteen levels of two spaces, eight of four, eight of a tab.
constexpr uint32_t kMaxSpaces = 32;
constexpr uint32_t kMaxTabs = 8;

constexpr ByteSet kHex = kDigits | ByteSet::range('a', 'f') | ByteSet::range('A', 'F');
constexpr ByteSet kTail = ByteSet::range(0x80, 0xBF);

}  // namespace

// The table of well-formed sequences in the Unicode standard, chapter 3.
NodeId JsonRules::beyond_ascii(bool separators, NodeId next) {
    const NodeId one = b_.byte(kTail, next);
    const NodeId two = b_.byte(kTail, one);
    std::vector<NodeId> forms = {
        b_.byte(ByteSet::range(0xC2, 0xDF), one),
        b_.byte(ByteSet::range(0xE0, 0xE0), b_.byte(ByteSet::range(0xA0, 0xBF), one)),
        b_.byte(ByteSet::range(0xED, 0xED), b_.byte(ByteSet::range(0x80, 0x9F), one)),
        b_.byte(ByteSet::range(0xF0, 0xF0), b_.byte(ByteSet::range(0x90, 0xBF), two)),
        b_.byte(ByteSet::range(0xF1, 0xF3), b_.byte(kTail, two)),
        b_.byte(ByteSet::range(0xF4, 0xF4), b_.byte(ByteSet::range(0x80, 0x8F), two)),
    };
    ByteSet three = ByteSet::range(0xE1, 0xEC) | ByteSet::range(0xEE, 0xEF);
    if (!separators) {
        // E2 80 A8 and E2 80 A9 are left out.
        three.remove(0xE2);
        const NodeId not_separator = b_.byte(kTail.without(ByteSet::range(0xA8, 0xA9)), next);
        forms.push_back(b_.byte(
            ByteSet::range(0xE2, 0xE2),
            b_.choice({b_.byte(ByteSet::range(0x80, 0x80), not_separator), b_.byte(ByteSet::range(0x81, 0xBF), one)})));
    }
    forms.push_back(b_.byte(three, two));
    return b_.choice(forms);
}

NodeId JsonRules::code_beyond_ascii() {
    if (code_ != 0) return code_;
    const NodeId done = ProgramBuilder::finish();
    const NodeId one = b_.byte(kHex, done);
    const NodeId two = b_.byte(kHex, one);
    const NodeId three = b_.byte(kHex, two);
    const NodeId latin = b_.choice({b_.literal("0", b_.byte(kHex.without(ByteSet::range('0', '7')), one)),
                                    b_.byte(kHex.without(ByteSet::of("0")), two)});
    // \uD83D\uDE00: a character beyond U+FFFF is escaped in two halves.
    const NodeId low = b_.literal("\\u", b_.byte(ByteSet::of("dD"), b_.byte(ByteSet::of("cdefCDEF"), two)));
    const NodeId high = b_.byte(ByteSet::of("89abAB"), b_.byte(kHex, b_.byte(kHex, low)));
    const NodeId plain_d = b_.byte(ByteSet::range('0', '7'), two);
    code_ = b_.choice({b_.literal("0", latin), b_.byte(kHex.without(ByteSet::of("0dD")), three),
                       b_.byte(ByteSet::of("dD"), b_.choice({plain_d, high}))});
    return code_;
}

NodeId JsonRules::character() {
    if (character_ != 0) return character_;
    const NodeId done = ProgramBuilder::finish();
    if (dialect_ == Dialect::call) {
        character_ = b_.choice({b_.byte(kCallAscii, done), beyond_ascii(/*separators=*/true, done)});
        return character_;
    }
    const NodeId ascii = b_.literal("00", b_.byte(ByteSet::range('0', '7'), b_.byte(kHex, done)));
    const NodeId code = b_.choice({ascii, code_beyond_ascii()});
    const NodeId escape = b_.choice({b_.byte(ByteSet::of("\"\\/bfnrt"), done), b_.literal("u", code)});
    character_ =
        b_.choice({b_.byte(kPlainAscii, done), b_.literal("\\", escape), beyond_ascii(/*separators=*/true, done)});
    return character_;
}

NodeId JsonRules::string(uint32_t min, uint32_t max, NodeId next) {
    return quote(b_.loop(character(), quote(next), min, max, true));
}

NodeId JsonRules::key(const std::string& name, NodeId next) {
    return b_.literal(dialect_ == Dialect::json ? chat::json_text(chat::Json(name)) : name, next);
}

NodeId JsonRules::any_key(NodeId next) {
    if (dialect_ == Dialect::json) return string(0, kUnlimited, next);
    return b_.loop(b_.byte(kBareName, ProgramBuilder::finish()), next, 1, kMaxBareName);
}

std::string JsonRules::text_of(const chat::Json& value) const {
    if (dialect_ == Dialect::json) return chat::json_text(value);
    chat::PieceWriter writer;
    chat::write_value(writer, value, chat::KeyStyle::bare);
    std::string out;
    for (const chat::Piece& piece : writer.pieces()) {
        // Only the template's own quotes are tokens; one that a text spells is its letters.
        std::string_view rest = piece.text;
        while (piece.trusted && rest.find(chat::kQuote) != std::string_view::npos) {
            out += rest.substr(0, rest.find(chat::kQuote));
            out += kQuoteByte;
            rest.remove_prefix(rest.find(chat::kQuote) + chat::kQuote.size());
        }
        out += rest;
    }
    return out;
}

NodeId JsonRules::value_like(const chat::Json& value, NodeId next) {
    if (dialect_ == Dialect::call || !value.is_structured() || value.empty()) return b_.literal(text_of(value), next);
    const bool object = value.is_object();
    NodeId node = blanks(b_.literal(object ? "}" : "]", next));
    size_t left = value.size();
    for (auto part = value.rbegin(); part != value.rend(); ++part) {
        node = value_like(*part, node);
        if (object) node = key(part.key(), colon(node));
        if (--left > 0) node = comma(node);
    }
    return b_.literal(object ? "{" : "[", blanks(node));
}

NodeId JsonRules::colon(NodeId next) {
    if (dialect_ == Dialect::call) return b_.literal(":", next);
    return b_.literal(":", b_.optional(b_.literal(" ", next), next));
}

NodeId JsonRules::digits(uint32_t min, uint32_t max, NodeId next) {
    if (digit_ == 0) digit_ = b_.byte(kDigits, ProgramBuilder::finish());
    return b_.loop(digit_, next, min, max);
}

NodeId JsonRules::whole_from_zero(NodeId next) {
    return b_.choice({b_.literal("0", next), b_.byte(ByteSet::range('1', '9'), digits(0, kWholeDigits - 1, next))});
}

NodeId JsonRules::integer(NodeId next) {
    const NodeId whole = whole_from_zero(next);
    return b_.optional(b_.literal("-", whole), whole);
}

NodeId JsonRules::number(NodeId next) {
    return integer(after_whole(next));
}

NodeId JsonRules::number_from_zero(NodeId next) {
    return whole_from_zero(after_whole(next));
}

NodeId JsonRules::after_whole(NodeId next) {
    const NodeId power = digits(1, kExponentDigits, next);
    const NodeId exponent = b_.byte(ByteSet::of("eE"), b_.optional(b_.byte(ByteSet::of("+-"), power), power));
    const NodeId after_fraction = b_.optional(exponent, next);
    const NodeId fraction = b_.literal(".", digits(1, kFractionDigits, after_fraction));
    return b_.choice({fraction, exponent, next});
}

NodeId JsonRules::layout() {
    if (layout_ != 0) return layout_;
    const NodeId done = ProgramBuilder::finish();
    const NodeId spaces = b_.loop(b_.literal(" ", done), done, 0, kMaxSpaces);
    const NodeId tabs = b_.loop(b_.literal("\t", done), done, 1, kMaxTabs);
    layout_ = b_.choice({done, b_.literal(" ", done), b_.literal("\n", b_.choice({spaces, tabs}))});
    return layout_;
}

NodeId JsonRules::array_of(NodeId element, uint32_t min, uint32_t max, NodeId next) {
    const NodeId close = b_.literal("]", next);
    if (max == 0) return min == 0 ? b_.literal("[", close) : b_.nothing();
    const NodeId more = comma(element);  // "," element, ends as the element does
    const NodeId rest = b_.loop(more, blanks(close), min == 0 ? 0 : min - 1, max == kUnlimited ? max : max - 1);
    const NodeId elements = b_.call(element, rest);
    return b_.literal("[", blanks(min == 0 ? b_.choice({close, elements}) : elements));
}

NodeId JsonRules::any_value() {
    if (any_value_ != 0) return any_value_;
    const NodeId done = ProgramBuilder::finish();
    any_value_ = b_.promise();
    b_.keep(any_value_, b_.choice({any_object(), array_of(any_value_, 0, kUnlimited, done), string(0, kUnlimited, done),
                                   number(done), boolean(done), null(done)}));
    return any_value_;
}

NodeId JsonRules::any_object() {
    if (any_object_ != 0) return any_object_;
    any_object_ = b_.promise();
    const NodeId close = b_.literal("}", ProgramBuilder::finish());
    const NodeId member = any_key(colon(any_value()));
    const NodeId rest = b_.loop(comma(member), blanks(close), 0, kUnlimited);
    b_.keep(any_object_, b_.literal("{", blanks(b_.choice({close, b_.call(member, rest)}))));
    return any_object_;
}

}  // namespace lapidary::grammar
