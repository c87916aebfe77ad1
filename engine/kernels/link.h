// Modules of WGSL → the text of a kernel. A module is a .wgsl file, made by tools/embed-wgsl.mjs; it names what must stand
// before it, and the linker puts each such module there once, depth first, in the order of the names.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>

#include "kernels/module.h"

namespace lapidary::kernels {

// What fills a slot; `second` where there are two formats of weights.
struct Slot {
    std::string_view name;
    const Module* first = nullptr;
    const Module* second = nullptr;
};

// All there are: for tests.
std::span<const Module* const> modules();
// One that another module imports. Null: there is none.
const Module* find_module(std::string_view name);

// Names that depend on a format of weights end in _1, and in the second instance of their text in _2. Lines that enable
// something come first. A slot without a module is left out. unbound: numbers of bindings that this form of the kernel does not
// look at. They become variables that only code uses which never runs, and which is in no condition
// before a barrier: a variable is not uniform.
std::string link(const Module& kernel, std::span<const Slot> slots, std::span<const uint8_t> unbound = {});

// Whether the kernel, or what it imports, has this slot.
bool has_slot(const Module& kernel, std::string_view slot);

}  // namespace lapidary::kernels
