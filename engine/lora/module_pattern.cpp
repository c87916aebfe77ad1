#include "lora/module_pattern.h"

#include <functional>
#include <string>

namespace lapidary::lora {
namespace {

constexpr size_t kMaxPattern = 512;
constexpr size_t kMaxName = 256;
constexpr uint32_t kMaxSteps = 100'000;
constexpr uint32_t kMaxDepth = 24;    // of groups
constexpr uint32_t kMaxNested = 600;  // of pieces still to be matched: bounds the stack

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}
bool is_word(char c) {
    return is_digit(c) || c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// Backtracking over the text of the pattern itself. `Then` is what has to match after a piece.
class Matcher {
  public:
    Matcher(std::string_view pattern, std::string_view name) : pattern_(pattern), name_(name) {}

    using Then = std::function<bool(size_t at)>;

    // Alternatives in pattern_[begin, end).
    bool alternatives(size_t begin, size_t end, size_t at, uint32_t depth, const Then& then) {
        if (depth > kMaxDepth) return give_up();
        size_t start = begin;
        for (size_t i = begin;; ++i) {
            if (i < end && pattern_[i] != '|') {
                i = skip_piece(i, end) - 1;
                if (broken_) return false;
                continue;
            }
            if (sequence(start, std::min(i, end), at, depth, then)) return true;
            if (broken_ || i >= end) return false;
            start = i + 1;
        }
    }

    [[nodiscard]] bool broken() const { return broken_; }

  private:
    bool give_up() {
        broken_ = true;
        return false;
    }

    // Where the piece at i (a character, class or group, without what repeats it) ends.
    size_t skip_piece(size_t i, size_t end) {
        if (pattern_[i] == '\\') return i + 2 <= end ? i + 2 : (give_up(), end);
        if (pattern_[i] == '[') {
            size_t k = i + 1;
            if (k < end && pattern_[k] == '^') ++k;
            if (k < end && pattern_[k] == ']') ++k;  // first, it stands for itself
            for (; k < end && pattern_[k] != ']'; ++k) {
                if (pattern_[k] == '\\') ++k;
            }
            return k < end ? k + 1 : (give_up(), end);
        }
        if (pattern_[i] != '(') return i + 1;
        size_t open = 0;
        for (size_t k = i; k < end;) {
            if (pattern_[k] == '(') {
                if (++open > kMaxDepth) break;
                ++k;
            } else if (pattern_[k] == ')') {
                ++k;
                if (--open == 0) return k;
            } else {
                k = skip_piece(k, end);
                if (broken_) return end;
            }
        }
        give_up();
        return end;
    }

    bool sequence(size_t i, size_t end, size_t at, uint32_t depth, const Then& then) {
        if (++steps_ > kMaxSteps || nested_ > kMaxNested) return give_up();
        if (i == end) return then(at);
        const char c = pattern_[i];
        if (c == '*' || c == '+' || c == '?' || c == '{' || c == ')') return give_up();
        const size_t next = skip_piece(i, end);
        if (broken_) return false;
        const char repeat = next < end ? pattern_[next] : '\0';
        if (repeat == '{') return give_up();
        const bool repeats = repeat == '*' || repeat == '+' || repeat == '?';
        const size_t rest = repeats ? next + 1 : next;
        const Then after = [this, rest, end, depth, &then](size_t to) { return sequence(rest, end, to, depth, then); };
        ++nested_;
        const bool found = repeats ? repeated(i, next, repeat, at, depth, after) : piece(i, next, at, depth, after);
        --nested_;
        return found;
    }

    // As often as possible first, then less often.
    bool repeated(size_t i, size_t next, char repeat, size_t at, uint32_t depth, const Then& after) {
        if (++steps_ > kMaxSteps || ++nested_ > kMaxNested) return give_up();
        const bool more = piece(i, next, at, depth, [&](size_t to) {
            if (to == at) return false;  // an empty repetition repeats for ever
            return repeat == '?' ? after(to) : repeated(i, next, '*', to, depth, after);
        });
        --nested_;
        return more || (!broken_ && repeat != '+' && after(at));
    }

    bool piece(size_t i, size_t next, size_t at, uint32_t depth, const Then& then) {
        const char c = pattern_[i];
        if (c == '(') {
            size_t begin = i + 1;
            if (pattern_.substr(begin).starts_with("?:"))
                begin += 2;
            else if (begin < next && pattern_[begin] == '?')
                return give_up();
            return alternatives(begin, next - 1, at, depth + 1, then);
        }
        if (c == '^') return at == 0 && then(at);
        if (c == '$') return at == name_.size() && then(at);
        if (at == name_.size()) return false;
        const char found = name_[at];
        if (c == '[') return in_class(i + 1, next - 1, found) && then(at + 1);
        if (c == '\\') return is_escape(pattern_[i + 1], found) && then(at + 1);
        return (c == '.' || c == found) && then(at + 1);
    }

    bool is_escape(char escape, char found) {
        switch (escape) {
            case 'd': return is_digit(found);
            case 'w': return is_word(found);
            case 's': return found == ' ';
            default: return is_word(escape) ? give_up() : escape == found;
        }
    }

    bool in_class(size_t i, size_t end, char found) {
        const bool negated = i < end && pattern_[i] == '^';
        if (negated) ++i;
        bool inside = false;
        for (; i < end; ++i) {
            if (pattern_[i] == '\\') {
                inside = inside || is_escape(pattern_[++i], found);
            } else if (i + 2 < end && pattern_[i + 1] == '-') {
                inside = inside || (found >= pattern_[i] && found <= pattern_[i + 2]);
                i += 2;
            } else {
                inside = inside || pattern_[i] == found;
            }
        }
        return inside != negated;
    }

    std::string_view pattern_;
    std::string_view name_;
    uint32_t steps_ = 0;
    uint32_t nested_ = 0;
    bool broken_ = false;
};

}  // namespace

Result<bool> matches_module(std::string_view pattern, std::string_view name) {
    if (pattern.size() > kMaxPattern || name.size() > kMaxName) {
        return fail(Code::limit, "the pattern '{}' is too long", printable(pattern));
    }
    Matcher matcher(pattern, name);
    const bool anchored = pattern.starts_with('^');
    for (size_t at = 0; at <= name.size(); ++at) {
        const bool boundary = at == 0 || name[at - 1] == '.';
        if (!boundary) continue;
        const bool found =
            matcher.alternatives(0, pattern.size(), at, 0, [&](size_t to) { return anchored || to == name.size(); });
        if (matcher.broken()) {
            return fail(Code::unsupported, "the pattern '{}' in adapter_config.json cannot be followed",
                        printable(pattern));
        }
        if (found) return true;
        if (anchored) return false;
    }
    return false;
}

}  // namespace lapidary::lora
