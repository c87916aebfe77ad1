#include "grammar/number_range.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "chat/json.h"

namespace lapidary::grammar {
namespace {

ByteSet digits(char from, char to) {
    return from > to ? ByteSet() : ByteSet::range(uint8_t(from), uint8_t(to));
}

// Whole numbers without sign are texts of digits here. Shorter is smaller; equal lengths compare as texts.
bool less(const std::string& a, const std::string& b) {
    return a.size() != b.size() ? a.size() < b.size() : a < b;
}

std::string plus_one(std::string digits) {
    for (size_t i = digits.size(); i > 0; --i) {
        if (digits[i - 1] != '9') {
            ++digits[i - 1];
            return digits;
        }
        digits[i - 1] = '0';
    }
    return "1" + digits;
}

// nothing for 0
std::optional<std::string> minus_one(std::string digits) {
    if (digits == "0") return std::nullopt;
    for (size_t i = digits.size(); i > 0; --i) {
        if (digits[i - 1] != '0') {
            --digits[i - 1];
            break;
        }
        digits[i - 1] = '9';
    }
    if (digits.size() > 1 && digits[0] == '0') digits.erase(0, 1);
    return digits;
}

// What is compared digit by digit: a bound that has been met exactly so far, or is behind us.
struct Tight {
    bool low = false;
    bool high = false;
};

class Magnitudes {
  public:
    Magnitudes(ProgramBuilder& builder, NodeId next) : b_(builder), next_(next) {}

    // Whole numbers from low to high, both included.
    NodeId whole(const std::string& low, const std::string& high, NodeId next) {
        std::vector<NodeId> lengths;
        for (size_t size = low.size(); size <= high.size(); ++size) {
            const std::string from = size == low.size() ? low : "1" + std::string(size - 1, '0');
            const std::string to = size == high.size() ? high : std::string(size, '9');
            if (!less(to, from)) lengths.push_back(same_length(from, to, 0, {true, true}, next));
        }
        return b_.choice(lengths);
    }

    // Numbers from low to high; what the range says about its ends counts for these.
    NodeId decimals(const Decimal& low, const Decimal& high, bool low_excluded, bool high_excluded) {
        low_ = low.fraction;
        high_ = high.fraction;
        low_excluded_ = low_excluded;
        high_excluded_ = high_excluded;
        std::vector<NodeId> parts;
        for (size_t size = low.whole.size(); size <= high.whole.size(); ++size) {
            // Fifteen digits in all: then two numbers that differ in decimal differ as doubles too.
            limit_ = size_t(kWholeDigits) - size;
            const Tight ends{size == low.whole.size(), size == high.whole.size()};
            std::string from = ends.low ? low.whole : "1" + std::string(size - 1, '0');
            std::string to = ends.high ? high.whole : std::string(size, '9');
            if (less(to, from)) continue;
            if (ends.low && ends.high && from == to) {
                parts.push_back(b_.literal(from, after_whole({true, true})));
                continue;
            }
            if (ends.low) {
                parts.push_back(b_.literal(from, after_whole({true, false})));
                from = plus_one(from);
            }
            if (ends.high) {
                parts.push_back(b_.literal(to, after_whole({false, true})));
                to = minus_one(to).value_or("");
            }
            if (!less(to, from)) parts.push_back(whole(from, to, after_whole({false, false})));
        }
        return b_.choice(parts);
    }

  private:
    NodeId same_length(const std::string& low, const std::string& high, size_t at, Tight tight, NodeId next) {
        if (at == low.size()) return next;
        const char from = tight.low ? low[at] : '0';
        const char to = tight.high ? high[at] : '9';
        const auto go_on = [&](Tight then) { return same_length(low, high, at + 1, then, next); };
        if (!tight.low && !tight.high) return b_.byte(kDigits, go_on({}));
        if (from == to) return b_.byte(digits(from, to), go_on(tight));
        std::vector<NodeId> branches;
        const char inner_from = tight.low ? char(from + 1) : from;
        const char inner_to = tight.high ? char(to - 1) : to;
        if (tight.low) branches.push_back(b_.byte(digits(from, from), go_on({true, false})));
        if (tight.high) branches.push_back(b_.byte(digits(to, to), go_on({false, true})));
        if (inner_from <= inner_to) branches.push_back(b_.byte(digits(inner_from, inner_to), go_on({})));
        return b_.choice(branches);
    }

    NodeId after_whole(Tight tight) {
        if (limit_ == 0) return may_end(0, tight) ? next_ : b_.nothing();
        const NodeId fraction = b_.literal(".", digit(0, tight));
        return may_end(0, tight) ? b_.choice({next_, fraction}) : fraction;
    }

    static char digit_at(const std::string& fraction, size_t at) { return at < fraction.size() ? fraction[at] : '0'; }

    // Whether a number that ends after `at` digits of its fraction is inside.
    [[nodiscard]] bool may_end(size_t at, Tight tight) const {
        // Tight means equal up to here; the bound is met if none of its digits are left, and not reached otherwise.
        const bool at_low = tight.low && at >= low_.size();
        const bool below_low = tight.low && at < low_.size();
        const bool at_high = tight.high && at >= high_.size();
        return !below_low && !(at_low && low_excluded_) && !(at_high && high_excluded_);
    }

    NodeId digit(size_t at, Tight tight) {
        const char from = tight.low ? digit_at(low_, at) : '0';
        const char to = tight.high ? digit_at(high_, at) : '9';
        if (at == limit_ || from > to) return b_.nothing();
        std::vector<NodeId> branches;
        const auto then = [&](char low, char high, Tight state) {
            if (low > high) return;
            const NodeId more = digit(at + 1, state);
            const NodeId next = may_end(at + 1, state) ? b_.choice({next_, more}) : more;
            branches.push_back(b_.byte(digits(low, high), next));
        };
        if (tight.low && tight.high && from == to) {
            then(from, to, {true, true});
            return b_.choice(branches);
        }
        if (tight.low) then(from, from, {true, false});
        if (tight.high) then(to, to, {false, true});
        if (!tight.low && !tight.high) return free_digits(at);
        then(tight.low ? char(from + 1) : from, tight.high ? char(to - 1) : to, {});
        return b_.choice(branches);
    }

    // One to all of the digits that are left.
    NodeId free_digits(size_t at) {
        return b_.loop(b_.byte(kDigits, ProgramBuilder::finish()), next_, 1, uint32_t(limit_ - at));
    }

    ProgramBuilder& b_;
    NodeId next_;
    std::string low_;
    std::string high_;
    bool low_excluded_ = false;
    bool high_excluded_ = false;
    size_t limit_ = 0;  // digits of a fraction
};

// The range as magnitudes below and above zero.
struct Half {
    Decimal low, high;
    bool low_excluded = false;
    bool high_excluded = false;
};
struct Halves {
    std::optional<Half> negative, positive;
};

Halves split(const NumberRange& range) {
    Halves out;
    if (range.low.negative) {
        out.negative = Half{{}, range.low, false, range.low_excluded};
        if (range.high.negative) {
            out.negative->low = range.high;
            out.negative->low_excluded = range.high_excluded;
        } else if (range.high.whole == "0" && range.high.fraction.empty()) {
            out.negative->low_excluded = range.high_excluded;  // -0 is 0
        }
    }
    if (!range.high.negative) {
        out.positive = Half{{}, range.high, false, range.high_excluded};
        if (!range.low.negative) {
            out.positive->low = range.low;
            out.positive->low_excluded = range.low_excluded;
        }
    }
    return out;
}

NodeId whole_half(Magnitudes& magnitudes, ProgramBuilder& builder, const Half& half, NodeId next) {
    std::string low = half.low.whole;
    if (!half.low.fraction.empty() || half.low_excluded) low = plus_one(low);
    std::optional<std::string> high = half.high.whole;
    if (half.high.fraction.empty() && half.high_excluded) high = minus_one(*high);
    if (!high || less(*high, low)) return builder.nothing();
    return magnitudes.whole(low, *high, next);
}

}  // namespace

Result<Decimal> to_decimal(double value) {
    const auto refuse = [&] {
        return fail(Code::invalid_argument, "the bound {} of a number is not supported: use up to {} digits", value,
                    kWholeDigits);
    };
    if (!std::isfinite(value) || std::abs(value) >= 1e15) return refuse();
    const std::string text = chat::number_text(chat::Json(std::abs(value)));
    if (text.find_first_not_of("0123456789.") != std::string::npos) return refuse();
    Decimal out;
    out.negative = value < 0;
    const size_t point = std::min(text.find('.'), text.size());
    out.whole = text.substr(0, point);
    out.fraction = text.substr(std::min(point + 1, text.size()));
    while (out.fraction.ends_with('0')) out.fraction.pop_back();
    if (out.fraction.size() >= kFractionDigits) return refuse();
    return out;
}

NodeId integer_between(ProgramBuilder& builder, const NumberRange& range, NodeId next) {
    Magnitudes magnitudes(builder, next);
    const Halves halves = split(range);
    std::vector<NodeId> parts;
    if (halves.negative) parts.push_back(builder.literal("-", whole_half(magnitudes, builder, *halves.negative, next)));
    if (halves.positive) parts.push_back(whole_half(magnitudes, builder, *halves.positive, next));
    return builder.choice(parts);
}

NodeId number_between(ProgramBuilder& builder, const NumberRange& range, NodeId next) {
    Magnitudes magnitudes(builder, next);
    const Halves halves = split(range);
    const auto half = [&](const Half& h) {
        return magnitudes.decimals(h.low, h.high, h.low_excluded, h.high_excluded);
    };
    std::vector<NodeId> parts;
    if (halves.negative) parts.push_back(builder.literal("-", half(*halves.negative)));
    if (halves.positive) parts.push_back(half(*halves.positive));
    return builder.choice(parts);
}

}  // namespace lapidary::grammar
