#include "grammar/pattern_tree.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

#include "grammar/language.h"
#include "grammar/pattern.h"

namespace lapidary::grammar {
namespace {

constexpr size_t kMaxGroupDepth = 48;
constexpr uint32_t kMaxRepeat = 1'000'000;

CharSet digits() {
    return {{'0', '9'}};
}
CharSet word() {
    return {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
}
CharSet space() {
    return {{'\t', '\r'},     {' ', ' '},       {0xA0, 0xA0},     {0x1680, 0x1680}, {0x2000, 0x200A},
            {0x2028, 0x2029}, {0x202F, 0x202F}, {0x205F, 0x205F}, {0x3000, 0x3000}, {0xFEFF, 0xFEFF}};
}

// Of Unicode's properties the common ones, as far as the scripts people write schemas in need them.
std::optional<CharSet> property(std::string_view name) {
    const CharSet upper = {{'A', 'Z'}, {0xC0, 0xD6}, {0xD8, 0xDE}, {0x391, 0x3A1}, {0x3A3, 0x3A9}, {0x410, 0x42F}};
    const CharSet lower = {{'a', 'z'}, {0xDF, 0xF6}, {0xF8, 0xFF}, {0x3B1, 0x3C9}, {0x430, 0x44F}};
    if (name == "Lu" || name == "Uppercase_Letter") return upper;
    if (name == "Ll" || name == "Lowercase_Letter") return lower;
    if (name == "L" || name == "Letter" || name == "Alphabetic") {
        CharSet letters = {{0x100, 0x17F},   {0x386, 0x386},   {0x388, 0x38A},   {0x401, 0x401},
                           {0x451, 0x451},   {0x5D0, 0x5EA},   {0x620, 0x64A},   {0x905, 0x939},
                           {0x3041, 0x3096}, {0x30A1, 0x30FA}, {0x4E00, 0x9FFF}, {0xAC00, 0xD7A3}};
        letters.add(upper);
        letters.add(lower);
        return letters;
    }
    if (name == "N" || name == "Nd" || name == "Number") return digits();
    if (name == "P" || name == "Punctuation") return CharSet::of("!\"#%&'()*,-./:;?@[\\]_{}");
    if (name == "Z" || name == "Zs") return CharSet{{' ', ' '}, {0xA0, 0xA0}, {0x2000, 0x200A}, {0x3000, 0x3000}};
    if (name == "Regional_Indicator" || name == "RI") return CharSet{{0x1F1E6, 0x1F1FF}};
    if (name == "Emoji_Component" || name == "EComp") {
        return CharSet{{'#', '#'},         {'*', '*'},        {'0', '9'},         {0x200D, 0x200D},
                       {0x20E3, 0x20E3},   {0xFE0F, 0xFE0F},  {0x1F1E6, 0x1F1FF}, {0x1F3FB, 0x1F3FF},
                       {0x1F9B0, 0x1F9B3}, {0xE0020, 0xE007F}};
    }
    if (name == "Extended_Pictographic" || name == "ExtPict") {
        return CharSet{
            {0x231A, 0x231B},   {0x23E9, 0x23F3},   {0x25FB, 0x25FE},   {0x2600, 0x2604},   {0x2614, 0x2615},
            {0x2648, 0x2653},   {0x26A0, 0x26A1},   {0x2705, 0x2705},   {0x2708, 0x270D},   {0x2728, 0x2728},
            {0x2763, 0x2764},   {0x2B50, 0x2B50},   {0x1F300, 0x1F321}, {0x1F324, 0x1F393}, {0x1F39E, 0x1F3F0},
            {0x1F3F3, 0x1F3F5}, {0x1F3F7, 0x1F3FA}, {0x1F400, 0x1F4FD}, {0x1F4FF, 0x1F53D}, {0x1F550, 0x1F567},
            {0x1F5FA, 0x1F64F}, {0x1F680, 0x1F6C5}, {0x1F90D, 0x1F93A}, {0x1F93C, 0x1F945}, {0x1F947, 0x1F9FF}};
    }
    return std::nullopt;
}

class PatternReader {
  public:
    explicit PatternReader(std::string_view text) : source_(text), text_(characters_of(text)) {}

    Result<PatternTree> run() {
        if (source_.size() > kMaxPatternBytes) {
            return fail(Code::limit, "the pattern has {} bytes; at most {} are accepted", source_.size(),
                        kMaxPatternBytes);
        }
        PatternTree tree;
        if (source_.starts_with("(?i)")) {
            at_ = 4;
            any_case_ = true;
            exact_ = false;
        }
        tree.branches = TRY(branches(0));
        if (!at_end()) return wrong();
        tree.exact = exact_;
        return tree;
    }

  private:
    std::unexpected<Error> wrong() const {
        return fail(Code::invalid_argument, "the pattern '{}' is not supported at its character {}",
                    printable(source_, 120), at_);
    }
    [[nodiscard]] bool at_end() const { return at_ == text_.size(); }
    [[nodiscard]] uint32_t peek(size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : 0; }
    bool take(uint32_t c) {
        if (at_end() || text_[at_] != c) return false;
        ++at_;
        return true;
    }
    bool take(std::string_view ascii) {
        for (size_t i = 0; i < ascii.size(); ++i) {
            if (at_ + i >= text_.size() || text_[at_ + i] != uint8_t(ascii[i])) return false;
        }
        at_ += ascii.size();
        return true;
    }

    Result<std::vector<PatternSequence>> branches(size_t depth) {
        std::vector<PatternSequence> out;
        do {
            out.push_back(TRY(sequence(depth)));
        } while (take('|'));
        return out;
    }

    Result<PatternSequence> sequence(size_t depth) {
        PatternSequence items;
        while (!at_end() && peek() != '|' && peek() != ')') {
            PatternItem item = TRY(atom(depth));
            TRY(quantifier(item));
            items.push_back(std::move(item));
        }
        return items;
    }

    Result<PatternItem> atom(size_t depth) {
        using Kind = PatternItem::Kind;
        PatternItem item;
        const uint32_t c = peek();
        if (c == '(') {
            if (depth == kMaxGroupDepth) return wrong();
            ++at_;
            item.kind = Kind::alternatives;
            if (take("?=")) {
                item.kind = Kind::ahead;
            } else if (take("?!")) {
                item.kind = Kind::ahead;
                item.negated = true;
            } else if (take("?<") || take("?P<")) {
                if (peek() == '=' || peek() == '!') return wrong();
                while (!at_end() && peek() != '>') ++at_;
                if (!take('>')) return wrong();
            } else if (take('?') && !take(':')) {
                return wrong();
            }
            item.inside = TRY(branches(depth + 1));
            if (!take(')')) return wrong();
        } else if (c == '[') {
            item.set = TRY(bracket());
        } else if (c == '\\') {
            ++at_;
            item.set = TRY(escape(false));
        } else if (take('.')) {
            item.set = line_ends().complement();
        } else if (take('^')) {
            item.kind = Kind::start;
        } else if (take('$')) {
            item.kind = Kind::end;
        } else if (c == '*' || c == '+' || c == '?') {
            return wrong();
        } else {
            ++at_;
            item.set = one(c);
        }
        return item;
    }

    // A character, in both cases where cases do not count.
    [[nodiscard]] CharSet one(uint32_t c) const {
        CharSet set = {{c, c}};
        if (any_case_ && c >= 'a' && c <= 'z') set.add(c - 32, c - 32);
        if (any_case_ && c >= 'A' && c <= 'Z') set.add(c + 32, c + 32);
        return set;
    }

    Status quantifier(PatternItem& item) {
        uint32_t min = 1;
        uint32_t max = 1;
        if (take('*')) {
            min = 0;
            max = kEndless;
        } else if (take('+')) {
            max = kEndless;
        } else if (take('?')) {
            min = 0;
        } else if (peek() == '{' && peek(1) >= '0' && peek(1) <= '9') {
            ++at_;
            min = max = TRY(repeat_count());
            if (take(',')) max = peek() == '}' ? kEndless : TRY(repeat_count());
            if (!take('}') || max < min) return wrong();
        } else {
            return {};
        }
        take('?');  // lazy: the same texts match
        if (peek() == '*' || peek() == '+' || peek() == '?') return wrong();
        using Kind = PatternItem::Kind;
        if (item.kind == Kind::start || item.kind == Kind::end || item.kind == Kind::ahead) return wrong();
        PatternItem repeated;
        repeated.kind = Kind::repeat;
        repeated.min = min;
        repeated.max = max;
        repeated.inside.emplace_back().push_back(std::move(item));
        item = std::move(repeated);
        return {};
    }

    Result<uint32_t> repeat_count() {
        uint32_t value = 0;
        if (peek() < '0' || peek() > '9') return wrong();
        while (peek() >= '0' && peek() <= '9') {
            value = value * 10 + (text_[at_++] - '0');
            if (value > kMaxRepeat) return wrong();
        }
        return value;
    }

    Result<uint32_t> hex(size_t count) {
        uint32_t value = 0;
        for (size_t i = 0; i < count; ++i) {
            const uint32_t c = peek();
            const uint32_t letter = c | 0x20;
            if (c >= '0' && c <= '9') {
                value = value * 16 + (c - '0');
            } else if (letter >= 'a' && letter <= 'f') {
                value = value * 16 + (letter - 'a' + 10);
            } else {
                return wrong();
            }
            ++at_;
        }
        return value;
    }

    // After the backslash.
    Result<CharSet> escape(bool in_class) {
        if (at_end()) return wrong();
        const uint32_t c = text_[at_];
        ++at_;
        switch (c) {
            case 'd': return digits();
            case 'D': return digits().complement();
            case 'w': return word();
            case 'W': return word().complement();
            case 's': return space();
            case 'S': return space().complement();
            case 'n': return CharSet::of("\n");
            case 't': return CharSet::of("\t");
            case 'r': return CharSet::of("\r");
            case 'f': return CharSet::of("\f");
            case 'v': return CharSet::of("\v");
            case 'x': {
                const uint32_t value = TRY(hex(2));
                return one(value);
            }
            case 'u': {
                if (take('{')) {
                    uint32_t value = 0;
                    for (size_t i = 0; i < 6 && peek() != '}'; ++i) value = value * 16 + TRY(hex(1));
                    if (!take('}') || value > kLastCharacter) return wrong();
                    return one(value);
                }
                uint32_t value = TRY(hex(4));
                const bool high = value >= 0xD800 && value < 0xDC00;
                if (high && take("\\u")) {
                    const uint32_t low = TRY(hex(4));
                    if (low < 0xDC00 || low > 0xDFFF) return wrong();
                    value = 0x10000 + ((value - 0xD800) << 10) + (low - 0xDC00);
                }
                return one(value);
            }
            case 'p':
            case 'P': {
                if (!take('{')) return --at_, wrong();
                std::string name;
                while (!at_end() && peek() != '}' && name.size() < 32) name += char(text_[at_++] & 0x7F);
                const auto set = property(name);
                // What is only a part of a property must not be taken for all of it by its complement.
                if (!take('}') || !set || c == 'P') return wrong();
                exact_ = false;
                partial_ = true;
                return *set;
            }
            case 'b':
                if (in_class) return CharSet::of("\b");
                break;
            case '0':
                if (peek() < '0' || peek() > '9') return CharSet{{0, 0}};
                break;
            default:
                // Other letters and digits would be back references and borders of words.
                if (c < 0x80 && !word().has(c)) return one(c);
                if (c >= 0x80 || c == '_') return one(c);
        }
        --at_;
        return wrong();
    }

    Result<CharSet> bracket() {
        ++at_;
        const bool negated = take('^');
        CharSet out;
        const bool partial = std::exchange(partial_, false);
        while (!take(']')) {
            if (at_end()) return wrong();
            CharSet low = TRY(member());
            if (peek() == '-' && at_ + 1 < text_.size() && text_[at_ + 1] != ']') {
                ++at_;
                const CharSet high = TRY(member());
                const auto from = single(low);
                const auto to = single(high);
                if (from && to) {
                    if (*from > *to) return wrong();
                    low = CharSet{{*from, *to}};
                    if (any_case_) low = both_cases(low);
                } else {
                    low.add(high);  // as engines read it: the hyphen is one
                    low.add('-', '-');
                }
            }
            out.add(low);
        }
        if (negated && partial_) return wrong();
        partial_ = partial;
        return negated ? out.complement() : out;
    }

    static CharSet both_cases(const CharSet& set) {
        CharSet out = set;
        for (uint32_t c = 'a'; c <= 'z'; ++c) {
            if (set.has(c)) out.add(c - 32, c - 32);
            if (set.has(c - 32)) out.add(c, c);
        }
        return out;
    }

    Result<CharSet> member() {
        if (take('\\')) return escape(true);
        if (at_end()) return wrong();
        return one(text_[at_++]);
    }

    // The one character the set was written as.
    [[nodiscard]] std::optional<uint32_t> single(const CharSet& set) const {
        if (set.ranges().size() == 1 && set.ranges()[0].first == set.ranges()[0].last) return set.ranges()[0].first;
        // Both cases of a letter.
        if (any_case_ && set.ranges().size() == 2 && set == one(set.ranges()[1].first)) return set.ranges()[1].first;
        return std::nullopt;
    }

    std::string_view source_;
    std::vector<uint32_t> text_;
    size_t at_ = 0;
    bool any_case_ = false;
    bool exact_ = true;
    bool partial_ = false;  // the set being read has only a part of its members
};

}  // namespace

Result<PatternTree> read_pattern_tree(std::string_view pattern) {
    return PatternReader(pattern).run();
}

}  // namespace lapidary::grammar
