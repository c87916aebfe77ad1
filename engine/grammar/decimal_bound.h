// A number of a schema in decimal, exactly as it was written.
#pragma once

#include <cstdint>
#include <string>

#include "base/error.h"
#include "chat/json.h"

namespace lapidary::grammar {

struct DecimalBound {
    bool negative = false;
    std::string whole = "0";
    std::string fraction;  // without zeros at its end
    auto operator<=>(const DecimalBound&) const = default;

    [[nodiscard]] bool is_zero() const { return whole == "0" && fraction.empty(); }
    [[nodiscard]] bool is_whole() const { return fraction.empty(); }
};

// An error when the number has more than some hundred digits.
Result<DecimalBound> decimal_bound(const chat::Json& number);

// Below 0, 0 or above, as a is less than b, equal or greater.
int compare(const DecimalBound& a, const DecimalBound& b);

// Whether a is a whole multiple of b; b is not 0.
bool is_multiple(const DecimalBound& a, const DecimalBound& b);

}  // namespace lapidary::grammar
