#include "grammar/pattern.h"

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace lapidary::grammar {
namespace {

constexpr size_t kMaxGroupDepth = 32;
constexpr uint32_t kMaxRepeat = 10000;

constexpr ByteSet kAscii = ByteSet::range(0, 0x7F);
constexpr ByteSet kWord = kDigits | ByteSet::range('a', 'z') | ByteSet::range('A', 'Z') | ByteSet::of("_");
constexpr ByteSet kSpace = ByteSet::of(" \t\n\r\f\v");

// One character out of a set.
struct Class {
    ByteSet ascii;
    bool beyond = false;  // and every character beyond ASCII (but the line separators)
};

struct Item {
    enum class Kind : uint8_t { one, text, alternatives, repeat } kind = Kind::one;
    Class one;
    std::string text;                       // a character beyond ASCII
    std::vector<std::vector<Item>> inside;  // the alternatives, or what is repeated as the only one
    uint32_t min = 1;
    uint32_t max = 1;
};
using Sequence = std::vector<Item>;

// A branch at the outermost level.
struct Branch {
    Sequence items;
    bool from_start = false;
    bool to_end = false;
};

class Reader {
  public:
    explicit Reader(std::string_view text) : text_(text) {}

    Result<std::vector<Branch>> run() {
        if (text_.size() > kMaxPatternBytes) {
            return fail(Code::limit, "the pattern has {} bytes; at most {} are accepted", text_.size(),
                        kMaxPatternBytes);
        }
        std::vector<Branch> branches;
        do {
            Branch branch;
            branch.from_start = take('^');
            branch.items = TRY(sequence(0));
            branch.to_end = take('$');
            branches.push_back(std::move(branch));
        } while (take('|'));
        if (!at_end()) return wrong();
        return branches;
    }

  private:
    std::unexpected<Error> wrong() const {
        return fail(Code::invalid_argument, "the pattern '{}' is not supported at its byte {}", printable(text_), at_);
    }
    [[nodiscard]] bool at_end() const { return at_ == text_.size(); }
    [[nodiscard]] char peek() const { return at_end() ? '\0' : text_[at_]; }
    bool take(char c) {
        if (at_end() || text_[at_] != c) return false;
        ++at_;
        return true;
    }

    Result<Sequence> sequence(size_t depth) {
        Sequence items;
        while (!at_end() && peek() != '|' && peek() != ')' && peek() != '$') {
            Item item = TRY(atom(depth));
            TRY(quantifier(item));
            items.push_back(std::move(item));
        }
        return items;
    }

    Result<Item> atom(size_t depth) {
        Item item;
        const char c = peek();
        if (c == '(') {
            if (depth == kMaxGroupDepth) return wrong();
            ++at_;
            if (take('?') && !take(':')) return wrong();
            item.kind = Item::Kind::alternatives;
            do {
                item.inside.push_back(TRY(sequence(depth + 1)));
            } while (take('|'));
            if (!take(')')) return wrong();
        } else if (c == '[') {
            item.one = TRY(bracket());
        } else if (c == '\\') {
            ++at_;
            item.one = TRY(escape());
        } else if (c == '.') {
            ++at_;
            item.one = {kAscii.without(ByteSet::of("\n\r")), true};
        } else if (uint8_t(c) >= 0x80) {
            item.kind = Item::Kind::text;
            do {
                item.text += text_[at_++];
            } while (!at_end() && (uint8_t(peek()) & 0xC0) == 0x80);
        } else if (c == '*' || c == '+' || c == '?' || c == '{' || c == '}' || c == ']' || c == '^') {
            return wrong();
        } else {
            ++at_;
            item.one.ascii.add(uint8_t(c));
        }
        return item;
    }

    Status quantifier(Item& item) {
        uint32_t min = 1;
        uint32_t max = 1;
        if (take('*')) {
            min = 0;
            max = kUnlimited;
        } else if (take('+')) {
            max = kUnlimited;
        } else if (take('?')) {
            min = 0;
        } else if (take('{')) {
            min = max = TRY(repeat_count());
            if (take(',')) max = peek() == '}' ? kUnlimited : TRY(repeat_count());
            if (!take('}') || max < min) return wrong();
        } else {
            return {};
        }
        take('?');  // lazy: the same texts match
        if (peek() == '*' || peek() == '+' || peek() == '{') return wrong();
        Item repeated{.kind = Item::Kind::repeat, .one = {}, .text = {}, .inside = {}, .min = min, .max = max};
        repeated.inside.emplace_back().push_back(std::move(item));
        item = std::move(repeated);
        return {};
    }

    Result<uint32_t> repeat_count() {
        uint32_t value = 0;
        if (!kDigits.has(uint8_t(peek()))) return wrong();
        while (kDigits.has(uint8_t(peek()))) {
            value = value * 10 + uint32_t(text_[at_++] - '0');
            if (value > kMaxRepeat) return wrong();
        }
        return value;
    }

    // After the backslash.
    Result<Class> escape() {
        if (at_end()) return wrong();
        const char c = text_[at_];
        Class out;
        switch (c) {
            case 'd': out.ascii = kDigits; break;
            case 'D': out = {kAscii.without(kDigits), true}; break;
            case 'w': out.ascii = kWord; break;
            case 'W': out = {kAscii.without(kWord), true}; break;
            case 's': out.ascii = kSpace; break;
            case 'S': out.ascii = kAscii.without(kSpace); break;  // some blanks are beyond ASCII: leave all out
            case 'n': out.ascii.add('\n'); break;
            case 't': out.ascii.add('\t'); break;
            case 'r': out.ascii.add('\r'); break;
            case 'f': out.ascii.add('\f'); break;
            case 'v': out.ascii.add('\v'); break;
            default:
                // Letters and digits would be back references, word borders, code points.
                if (kWord.has(uint8_t(c)) || uint8_t(c) >= 0x80) return wrong();
                out.ascii.add(uint8_t(c));
        }
        ++at_;
        return out;
    }

    Result<Class> bracket() {
        ++at_;
        const bool negated = take('^');
        Class out;
        blanks_ = false;
        while (!take(']')) {
            if (at_end() || uint8_t(peek()) >= 0x80) return wrong();
            Class low = TRY(member());
            if (peek() == '-' && at_ + 1 < text_.size() && text_[at_ + 1] != ']') {
                ++at_;
                if (uint8_t(peek()) >= 0x80) return wrong();
                const auto from = single(low);
                const auto to = single(TRY(member()));
                if (!from || !to || *from > *to) return wrong();
                low.ascii = ByteSet::range(*from, *to);
            }
            out.ascii = out.ascii | low.ascii;
            out.beyond = out.beyond || low.beyond;
        }
        if (negated) out = {kAscii.without(out.ascii), !out.beyond && !blanks_};
        return out;
    }

    Result<Class> member() {
        if (take('\\')) {
            if (peek() == 'S') return wrong();  // see above: its complement would be wrong
            if (peek() == 'b') return wrong();
            blanks_ = blanks_ || peek() == 's';
            return escape();
        }
        if (at_end()) return wrong();
        Class out;
        out.ascii.add(uint8_t(text_[at_++]));
        return out;
    }

    static std::optional<uint8_t> single(const Class& one) {
        std::optional<uint8_t> found;
        for (uint32_t byte = 0; byte < 0x80; ++byte) {
            if (!one.ascii.has(uint8_t(byte))) continue;
            if (found) return std::nullopt;
            found = uint8_t(byte);
        }
        return one.beyond ? std::nullopt : found;
    }

    std::string_view text_;
    size_t at_ = 0;
    bool blanks_ = false;  // the class being read has \s, which has members beyond ASCII
};

class Writer {
  public:
    Writer(ProgramBuilder& builder, JsonRules& rules) : b_(builder), rules_(rules) {}

    NodeId sequence(const Sequence& items, NodeId next) {
        for (size_t i = items.size(); i > 0; --i) next = item(items[i - 1], next);
        return next;
    }

  private:
    NodeId item(const Item& item, NodeId next) {
        switch (item.kind) {
            case Item::Kind::one: return one(item.one, next);
            case Item::Kind::text: return b_.literal(item.text, next);
            case Item::Kind::alternatives: {
                std::vector<NodeId> branches;
                for (const Sequence& inside : item.inside) branches.push_back(sequence(inside, next));
                return branches.size() == 1 ? branches[0] : b_.choice(branches);
            }
            case Item::Kind::repeat:
                if (item.min == 0 && item.max == 1) return b_.optional(sequence(item.inside[0], next), next);
                return b_.loop(sequence(item.inside[0], ProgramBuilder::finish()), next, item.min, item.max);
        }
        return next;
    }

    // A character as the dialect writes it: in JSON some need a backslash. Control characters without a short form are left out.
    NodeId one(const Class& one, NodeId next) {
        constexpr std::string_view kNeeds = "\"\\\n\t\r\f\b";
        constexpr std::string_view kLetters = "\"\\ntrfb";
        const bool json = rules_.dialect() == Dialect::json;
        const ByteSet plain = one.ascii & (json ? kPlainAscii : kCallAscii);
        ByteSet escaped;
        for (size_t i = 0; json && i < kNeeds.size(); ++i) {
            if (one.ascii.has(uint8_t(kNeeds[i]))) escaped.add(uint8_t(kLetters[i]));
        }
        std::vector<NodeId> ways;
        if (!plain.empty()) ways.push_back(b_.byte(plain, next));
        if (!escaped.empty()) ways.push_back(b_.literal("\\", b_.byte(escaped, next)));
        if (one.beyond) ways.push_back(rules_.beyond_ascii(/*separators=*/false, next));
        return ways.size() == 1 ? ways[0] : b_.choice(ways);
    }

    ProgramBuilder& b_;
    JsonRules& rules_;
};

struct Format {
    std::string_view name;
    std::string_view pattern;
};
// A leap day is a date too, but knowing when takes more than a pattern: it is left out.
#define LAPIDARY_DATE \
    "\\d{4}-((0[13578]|1[02])-(0[1-9]|[12]\\d|3[01])|(0[469]|11)-(0[1-9]|[12]\\d|30)|02-(0[1-9]|1\\d|2[0-8]))"
#define LAPIDARY_TIME "([01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(\\.\\d{1,9})?(Z|[+-]([01]\\d|2[0-3]):[0-5]\\d)"
#define LAPIDARY_HOST "[a-zA-Z0-9]([a-zA-Z0-9-]{0,20}[a-zA-Z0-9])?(\\.[a-zA-Z0-9]([a-zA-Z0-9-]{0,20}[a-zA-Z0-9])?){0,7}"
#define LAPIDARY_OCTET "(25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)"
constexpr auto kFormats = std::to_array<Format>({
    {"date", "^" LAPIDARY_DATE "$"},
    {"time", "^" LAPIDARY_TIME "$"},
    {"date-time", "^" LAPIDARY_DATE "T" LAPIDARY_TIME "$"},
    {"uuid", "^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$"},
    {"email", "^[a-zA-Z0-9_+-]{1,32}(\\.[a-zA-Z0-9_+-]{1,16}){0,2}@" LAPIDARY_HOST "$"},
    {"hostname", "^" LAPIDARY_HOST "$"},
    {"ipv4", "^" LAPIDARY_OCTET "(\\." LAPIDARY_OCTET "){3}$"},
    {"uri",
     "^(https?|ftp)://" LAPIDARY_HOST "(:\\d{1,4})?(/[a-zA-Z0-9._~-]{0,64}){0,16}(\\?[a-zA-Z0-9._~=&-]{0,128})?$"},
});
#undef LAPIDARY_DATE
#undef LAPIDARY_TIME
#undef LAPIDARY_HOST
#undef LAPIDARY_OCTET

}  // namespace

Result<NodeId> pattern_string(ProgramBuilder& builder, JsonRules& rules, std::string_view pattern, NodeId next) {
    const std::vector<Branch> branches = TRY(Reader(pattern).run());
    const NodeId close = rules.quote(next);
    Writer writer(builder, rules);
    std::vector<NodeId> ways;
    for (const Branch& branch : branches) {
        const NodeId tail = branch.to_end ? close : rules.free_text(close);
        const NodeId body = writer.sequence(branch.items, tail);
        ways.push_back(branch.from_start ? body : rules.free_text(body));
    }
    return rules.quote(builder.choice(ways));
}

std::string_view format_pattern(std::string_view format) {
    for (const Format& known : kFormats) {
        if (known.name == format) return known.pattern;
    }
    return {};
}

}  // namespace lapidary::grammar
