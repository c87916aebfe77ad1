// How a kernel's weights are packed. Only gemv and gemv_persistent take a matrix whose last rows are in another format than
// the first, and only if both hold whole numbers or neither does.
#pragma once

#include <optional>
#include <string>

#include "kernels/weight_format.h"

namespace lapidary::kernels {

struct Formats {
    Format first = Format::f32;
    std::optional<Format> second;

    // Most have one.
    Formats(Format format) : first(format) {}  // NOLINT(google-explicit-constructor)
    Formats(Format one, std::optional<Format> other) : first(one), second(other) {}

    [[nodiscard]] std::string name() const {
        std::string out(format_name(first));
        if (second) out += "+" + std::string(format_name(*second));
        return out;
    }
};

}  // namespace lapidary::kernels
