// A kernel's complete WGSL. Shapes are `override` constants, so a pipeline is made for each shape and a kernel needs no
// parameters at run time but the step.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "kernels/dispatch.h"

namespace lapidary::kernels {

// What the kernel imports, with the slots filled as formats, variant and op say, and the kernel's own.
std::string shader(const Module& kernel, Formats formats, Variant variant, std::span<const Slot> slots = {},
                   std::span<const uint8_t> unbound = {});
std::string shader(const Dispatch& dispatch, Variant variant);

// Another one for other kernels, and for other ways of trying them.
std::string_view kernels_digest();

}  // namespace lapidary::kernels
