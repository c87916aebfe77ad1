// The decimal digits of a double, exact, and rounded as they should be. The C library's printf does the same, for 8 KB of
// WebAssembly that nothing else needs.
#pragma once

#include <string>

namespace lapidary {

// 0.d₁d₂d₃… · 10 ^ exponent, d₁ not 0.
struct Decimal {
    std::string digits;
    int exponent = 0;

    // The nearest with at most so many digits, an even last one where two are as near; no zeros at its end.
    [[nodiscard]] Decimal rounded(size_t most) const;
};

// All digits of a number that is finite and larger than 0: up to 767 of them.
Decimal decimal_of(double value);

// As printf's %g has it: six digits, an exponent below 1e-4 and from 1e6 on.
std::string real_text(double value);

// d₁.d₂d₃…e±xx, as printf's %e has it.
std::string scientific_text(const Decimal& decimal);
// The same without an exponent.
std::string plain_text(const Decimal& decimal);

}  // namespace lapidary
