// Numbers within limits, as nodes of a program.
#pragma once

#include <compare>
#include <optional>
#include <vector>

#include "grammar/budget.h"
#include "grammar/decimal_bound.h"
#include "grammar/json_rules.h"

namespace lapidary::grammar {

struct NumberLimits {
    bool whole = true;       // whole numbers are allowed
    bool fractional = true;  // and those between them
    struct Bound {
        DecimalBound value;
        bool excluded = false;  // the bound itself
        auto operator<=>(const Bound&) const = default;
    };
    std::optional<Bound> low, high;
    std::vector<DecimalBound> multiples;      // of all of these
    std::vector<DecimalBound> not_multiples;  // of none of these
    std::vector<DecimalBound> excluded;       // values
    auto operator<=>(const NumberLimits&) const = default;

    void at_least(const Bound& bound);
    void at_most(const Bound& bound);
    // Whether a number of the schema is within the limits.
    [[nodiscard]] bool hold(const DecimalBound& value) const;
    // Obviously nothing is.
    [[nodiscard]] bool nothing() const;
};

// A number within the limits. Without limits all of JSON's forms, else without exponent.
Result<NodeId> number_within(ProgramBuilder& builder, JsonRules& rules, const NumberLimits& limits, Budget& budget);

}  // namespace lapidary::grammar
