#include "grammar/number_rules.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

namespace lapidary::grammar {
namespace {

constexpr size_t kMaxNumberStates = 20'000;
constexpr uint32_t kMaxDivisor = 1'000'000;

// A divisor as a whole number of units of 10^-places.
struct Divisor {
    uint32_t value = 1;
    uint32_t places = 0;
};

Result<Divisor> divisor_of(const DecimalBound& value) {
    const std::string digits = value.whole == "0" ? value.fraction : value.whole + value.fraction;
    Divisor out{.value = 0, .places = uint32_t(value.fraction.size())};
    for (const char digit : digits) {
        out.value = out.value * 10 + uint32_t(digit - '0');
        if (out.value > kMaxDivisor) {
            return fail(Code::limit, "'multipleOf' {} of the schema has too many digits",
                        value.whole + (value.fraction.empty() ? "" : "." + value.fraction));
        }
    }
    return out;
}

// Reads a number digit by digit and compares it with everything it must be compared with.
class NumberReader {
  public:
    explicit NumberReader(const NumberLimits& limits) : limits_(limits) {
        const auto compare_with = [&](const DecimalBound& value) { others_.push_back(value); };
        bool strict = !limits.multiples.empty() || !limits.not_multiples.empty() || !limits.excluded.empty() ||
                      !limits.whole || !limits.fractional;
        for (const auto& bound : {limits.low, limits.high}) {
            if (!bound) continue;
            compare_with(bound->value);
            strict = strict || bound->excluded;
        }
        for (const DecimalBound& value : limits.excluded) compare_with(value);
        strict_ = strict && limits.fractional;
    }

    Status prepare() {
        for (const DecimalBound& value : limits_.multiples) divisors_.push_back(TRY(divisor_of(value)));
        for (const DecimalBound& value : limits_.not_multiples) divisors_.push_back(TRY(divisor_of(value)));
        return {};
    }

    // Where the reading is, as a short text: equal texts go on equally.
    struct At {
        enum class Part : uint8_t { begin, sign, zero, whole, point, fraction } part = Part::begin;
        bool negative = false;
        bool broken = false;           // some digit of the fraction is not 0
        bool not_zero = false;         // some digit at all
        uint8_t digits = 0;            // of the whole part
        uint8_t places = 0;            // of the fraction
        std::vector<int8_t> compared;  // with each other number, as far as both were read: -1, 0, 1
        std::vector<uint32_t> left;    // of the division by each divisor
        auto operator<=>(const At&) const = default;
    };

    [[nodiscard]] At begin() const {
        At at;
        at.compared.assign(others_.size(), 0);
        at.left.assign(divisors_.size(), 0);
        return at;
    }

    // False: no number goes on like this.
    bool read(At& at, char c) const {
        using Part = At::Part;
        if (c == '-') {
            if (at.part != Part::begin) return false;
            at.part = Part::sign;
            at.negative = true;
            return true;
        }
        if (c == '.') {
            if ((at.part != Part::zero && at.part != Part::whole) || !limits_.fractional) return false;
            end_whole(at);
            at.part = Part::point;
            if (!strict_) at.digits = 0;  // nobody asks any more
            return true;
        }
        const auto digit = uint32_t(c - '0');
        if (at.part == Part::zero) return false;
        at.not_zero = at.not_zero || digit != 0;
        if (at.part == Part::begin || at.part == Part::sign || at.part == Part::whole) {
            if (at.digits == (strict_ ? kExactDigits : kWholeDigits)) return false;
            for (size_t i = 0; i < others_.size(); ++i) {
                const std::string& whole = others_[i].whole;
                if (at.compared[i] == 0 && at.digits < whole.size()) at.compared[i] = order(c, whole[at.digits]);
            }
            ++at.digits;
            at.part = at.part != Part::whole && digit == 0 ? Part::zero : Part::whole;
            divide(at, digit);
            return true;
        }
        if (at.places == most_places(at)) return false;
        for (size_t i = 0; i < others_.size(); ++i) {
            const std::string& fraction = others_[i].fraction;
            const char other = at.places < fraction.size() ? fraction[at.places] : '0';
            if (at.compared[i] == 0) at.compared[i] = order(c, other);
        }
        for (size_t i = 0; i < divisors_.size(); ++i) {
            if (at.places < divisors_[i].places) {
                at.left[i] = (at.left[i] * 10 + digit) % divisors_[i].value;
            } else if (digit != 0) {
                at.left[i] = kNever;
            }
        }
        ++at.places;
        at.broken = at.broken || digit != 0;
        at.part = Part::fraction;
        return true;
    }

    [[nodiscard]] bool complete(At at) const {
        using Part = At::Part;
        if (at.part == Part::zero || at.part == Part::whole) {
            end_whole(at);
        } else if (at.part != Part::fraction) {
            return false;
        }
        if (at.broken ? !limits_.fractional : !limits_.whole) return false;
        // "-0" is 0.
        const auto sign_of = [&](size_t i) -> int {
            const DecimalBound& other = others_[i];
            const bool negative = at.negative && at.not_zero;
            if (negative != other.negative) return negative ? -1 : 1;
            int size = at.compared[i];
            if (size == 0 && at.places < other.fraction.size()) size = -1;
            return negative ? -size : size;
        };
        size_t i = 0;
        if (limits_.low) {
            const int sign = sign_of(i++);
            if (limits_.low->excluded ? sign <= 0 : sign < 0) return false;
        }
        if (limits_.high) {
            const int sign = sign_of(i++);
            if (limits_.high->excluded ? sign >= 0 : sign > 0) return false;
        }
        for (; i < others_.size(); ++i) {
            if (sign_of(i) == 0) return false;
        }
        for (size_t k = 0; k < divisors_.size(); ++k) {
            uint64_t left = at.left[k];
            for (uint32_t place = at.places; left != kNever && place < divisors_[k].places; ++place) {
                left = left * 10 % divisors_[k].value;
            }
            if ((left == 0) != (k < limits_.multiples.size())) return false;
        }
        return true;
    }

  private:
    static constexpr uint32_t kNever = ~0u;

    static int8_t order(char a, char b) { return a < b ? int8_t(-1) : a > b ? int8_t(1) : int8_t(0); }

    [[nodiscard]] uint32_t most_places(const At& at) const {
        return strict_ ? kExactDigits - std::min<uint32_t>(kExactDigits, at.digits) : kFractionDigits;
    }

    // The longer whole number is the greater.
    void end_whole(At& at) const {
        for (size_t i = 0; i < others_.size(); ++i) {
            const size_t size = others_[i].whole.size();
            if (at.digits != size) at.compared[i] = at.digits < size ? -1 : 1;
        }
    }

    void divide(At& at, uint32_t digit) const {
        for (size_t i = 0; i < divisors_.size(); ++i) at.left[i] = (at.left[i] * 10 + digit) % divisors_[i].value;
    }

    const NumberLimits& limits_;
    std::vector<DecimalBound> others_;  // low, high, excluded values
    std::vector<Divisor> divisors_;     // multiples, then those that must not divide
    bool strict_ = false;
};

}  // namespace

void NumberLimits::at_least(const Bound& bound) {
    const int order = low ? compare(bound.value, low->value) : 1;
    if (order > 0 || (order == 0 && bound.excluded)) low = bound;
}

void NumberLimits::at_most(const Bound& bound) {
    const int order = high ? compare(bound.value, high->value) : -1;
    if (order < 0 || (order == 0 && bound.excluded)) high = bound;
}

bool NumberLimits::hold(const DecimalBound& value) const {
    if (value.is_whole() ? !whole : !fractional) return false;
    if (low) {
        const int order = compare(value, low->value);
        if (order < 0 || (order == 0 && low->excluded)) return false;
    }
    if (high) {
        const int order = compare(value, high->value);
        if (order > 0 || (order == 0 && high->excluded)) return false;
    }
    const auto divides = [&](const DecimalBound& divisor) { return is_multiple(value, divisor); };
    return std::ranges::all_of(multiples, divides) && std::ranges::none_of(not_multiples, divides) &&
           std::ranges::find(excluded, value) == excluded.end();
}

bool NumberLimits::nothing() const {
    if (!whole && !fractional) return true;
    if (!low || !high) return false;
    const int order = compare(low->value, high->value);
    return order > 0 || (order == 0 && (low->excluded || high->excluded || !hold(low->value)));
}

Result<NodeId> number_within(ProgramBuilder& builder, JsonRules& rules, const NumberLimits& limits, Budget& budget) {
    const NodeId done = ProgramBuilder::finish();
    if (limits.nothing()) return builder.nothing();
    // Bounds no number of so many digits reaches are none.
    NumberLimits own = limits;
    if (own.low && own.low->value.negative && own.low->value.whole.size() > kWholeDigits) own.low.reset();
    if (own.high && !own.high->value.negative && own.high->value.whole.size() > kWholeDigits) own.high.reset();
    const bool plain = own.multiples.empty() && own.not_multiples.empty() && own.excluded.empty() && own.whole;
    if (plain && !limits.high && !limits.low) return own.fractional ? rules.number(done) : rules.integer(done);
    if (plain && !limits.high && own.low && own.low->value.is_zero() && !own.low->excluded) {
        return own.fractional ? rules.number_from_zero(done) : rules.whole_from_zero(done);
    }

    NumberReader reader(own);
    TRY(reader.prepare());
    using At = NumberReader::At;
    std::map<At, uint32_t> known;
    std::vector<At> order;
    const auto name = [&](const At& at) {
        const auto [it, added] = known.try_emplace(at, uint32_t(order.size()));
        if (added) order.push_back(at);
        return it->second;
    };
    constexpr std::string_view kCharacters = "0123456789-.";
    struct Way {
        uint32_t target;
        ByteSet set;
    };
    std::vector<std::vector<Way>> ways;
    name(reader.begin());
    for (size_t i = 0; i < order.size(); ++i) {
        if (order.size() > kMaxNumberStates) {
            return fail(Code::limit,
                        "the schema limits a number in too fine a way: 'multipleOf' takes more than {} states",
                        kMaxNumberStates);
        }
        if (!budget.take(kCharacters.size() * (1 + order[i].compared.size() / 8))) return too_much_work();
        std::vector<Way>& out = ways.emplace_back();
        for (const char c : kCharacters) {
            At at = order[i];
            if (!reader.read(at, c)) continue;
            const uint32_t target = name(at);
            const auto same = std::ranges::find(out, target, &Way::target);
            if (same == out.end()) {
                out.push_back({target, ByteSet::range(uint8_t(c), uint8_t(c))});
            } else {
                same->set.add(uint8_t(c));
            }
        }
    }
    // Whole states that cannot be completed are left out by the program's own bookkeeping.
    std::vector<NodeId> nodes(order.size());
    std::vector<uint8_t> ends(order.size());
    for (size_t i = 0; i < order.size(); ++i) {
        ends[i] = reader.complete(order[i]) ? 1 : 0;
        nodes[i] = builder.open_choice(ways[i].size() + ends[i], 0);
    }
    for (size_t i = 0; i < order.size() && !builder.full(); ++i) {
        size_t way = 0;
        if (ends[i] != 0) builder.set_target(nodes[i], way++, done);
        for (const Way& one : ways[i]) builder.set_target(nodes[i], way++, builder.byte(one.set, nodes[one.target]));
    }
    return nodes[0];
}

}  // namespace lapidary::grammar
