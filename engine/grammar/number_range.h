// Numbers between two bounds, as nodes of a program.
#pragma once

#include <string>

#include "grammar/json_rules.h"

namespace lapidary::grammar {

// A bound in decimal: digits before and after the point.
struct Decimal {
    bool negative = false;
    std::string whole = "0";
    std::string fraction;  // without zeros at its end
};

// A bound as the schema writes it; an error when it has no short decimal form.
Result<Decimal> to_decimal(double value);

struct NumberRange {
    // Without a bound: as far as kWholeDigits reach.
    Decimal low{.negative = true, .whole = std::string(kWholeDigits, '9'), .fraction = {}};
    Decimal high{.negative = false, .whole = std::string(kWholeDigits, '9'), .fraction = {}};
    bool low_excluded = false;
    bool high_excluded = false;
};

// Whole numbers in the range, without fraction or exponent.
NodeId integer_between(ProgramBuilder& builder, const NumberRange& range, NodeId next);
// Numbers in the range, without exponent.
NodeId number_between(ProgramBuilder& builder, const NumberRange& range, NodeId next);

}  // namespace lapidary::grammar
