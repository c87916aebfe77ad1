// A module of WGSL, made from a .wgsl file by tools/embed-wgsl.mjs, and what it says about itself: what must stand before
// it, what a kernel binds and in which order, and which constants a pipeline may be given. For each the tool also writes a
// struct (wgsl::gemv) with its Constants and the names of its bindings, so that a constant that is forgotten, or a binding
// that does not exist, does not compile.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <type_traits>

#include "gpu/device.h"

namespace lapidary::kernels {

// A constant of a pipeline. Without a default it must be given: there is no other way to make one.
template <class T>
struct Constant {
    T value;
    bool given = true;

    template <class U>
        requires std::is_arithmetic_v<U> || std::is_enum_v<U>
    constexpr Constant(U known) : value(static_cast<T>(known)) {}  // NOLINT(google-explicit-constructor)
    // The WGSL's own value, or another constant's.
    static constexpr Constant unset() {
        Constant out(0);
        out.given = false;
        return out;
    }
};

struct ConstantField {
    std::string_view name;
    bool is_float;
    size_t offset;    // in the struct of constants
    double fallback;  // what the WGSL says; kNoDefault: nothing
};
inline constexpr double kNoDefault = std::numeric_limits<double>::quiet_NaN();

struct ModuleBinding {
    std::string_view name;
    uint8_t number;  // the linker closes the gaps that modules leave which are not there
    gpu::Access access;
};

struct Module {
    std::string_view name;  // of its file below engine/kernels: "weights/q4_k"
    std::string_view text;
    // Other modules by name. "$reduce" is a slot: whoever links says which module it is. What a product's weights are packed
    // in may be there twice: "$weights/2" is the second of a slot, "gemv/loaded/2" the same text for that.
    std::span<const std::string_view> imports;
    std::span<const std::string_view> needs;  // what is neither declared here nor imported: the kernel has it
    std::span<const ModuleBinding> bindings;  // in the order of their numbers
    std::span<const ConstantField> constants;

    // What people call it: its name without the folder.
    [[nodiscard]] std::string_view title() const {
        const size_t slash = name.rfind('/');
        return slash == std::string_view::npos ? name : name.substr(slash + 1);
    }
};

}  // namespace lapidary::kernels
