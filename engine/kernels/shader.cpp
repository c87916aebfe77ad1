#include "kernels/shader.h"

#include <algorithm>
#include <vector>

#include "kernels/wgsl_modules.h"

namespace lapidary::kernels {
namespace {

const Module& kv_module(KvFormat format) {
    switch (format) {
        case KvFormat::f32: return wgsl::kv_f32::module;
        case KvFormat::f16: return wgsl::kv_f16::module;
        case KvFormat::i16: return wgsl::kv_i16::module;
        case KvFormat::q8: return wgsl::kv_q8::module;
    }
    return wgsl::kv_f32::module;
}

const Module& dot_module(Format format, Activations activations) {
    if (activations == Activations::limbs) return wgsl::dot_limbs_group::module;
    return holds_whole_numbers(format) ? wgsl::dot_floats_group::module : wgsl::dot_floats_vec16::module;
}

}  // namespace

std::string shader(const Module& kernel, Formats formats, Variant variant, std::span<const Slot> slots,
                   std::span<const uint8_t> unbound) {
    // Weights in floating point have no use for whole numbers.
    const auto form = [&](Format format) {
        return holds_whole_numbers(format) ? variant.activations : Activations::floats;
    };
    const auto dot = [&](Format format) { return &dot_module(format, form(format)); };
    const bool limbs = form(formats.first) == Activations::limbs;
    // Where a kernel finds its x depends on the form as well.
    const bool ready = std::ranges::find(slots, &wgsl::prologue_ready::module, &Slot::first) != slots.end();
    const Module* const x = limbs ? (ready ? &wgsl::x_limbs_ready::module : &wgsl::x_limbs_staged::module)
                                  : (ready ? &wgsl::x_floats_ready::module : &wgsl::x_floats_staged::module);
    std::vector<Slot> all = {
        {"reduce",
         variant.reduction == Reduction::subgroup ? &wgsl::reduce_subgroup::module : &wgsl::reduce_shared::module},
        {"kv", &kv_module(variant.kv)},
        {"weights", &format_module(formats.first), formats.second ? &format_module(*formats.second) : nullptr},
        {"x", x},
        {"dot", dot(formats.first), formats.second ? dot(*formats.second) : nullptr},
        {"formats", formats.second ? &wgsl::two_formats::module : &wgsl::one_format::module},
        {"assignment", formats.second ? &wgsl::persistent_two_formats::module : &wgsl::persistent_one_format::module},
    };
    all.insert(all.end(), slots.begin(), slots.end());
    return link(kernel, all, unbound);
}

std::string shader(const Dispatch& dispatch, Variant variant) {
    return shader(*dispatch.kernel, dispatch.formats, variant, dispatch.slots, dispatch.unbound());
}

std::string_view kernels_digest() {
    return wgsl::digest;
}

}  // namespace lapidary::kernels
