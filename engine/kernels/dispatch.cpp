#include "kernels/dispatch.h"

#include <algorithm>
#include <bit>

#include "base/format.h"

namespace lapidary::kernels {

std::string Dispatch::name() const {
    std::string out(kernel->title());
    if (has_slot(*kernel, "weights")) out += "." + formats.name();
    return out;
}

std::string Dispatch::label(Variant variant) const {
    std::string out = name();
    if (has_slot(*kernel, "reduce")) out += variant.reduction == Reduction::subgroup ? " subgroup" : " shared";
    if (has_slot(*kernel, "x")) out += variant.activations == Activations::limbs ? " limbs" : " floats";
    if (has_slot(*kernel, "kv")) out += " " + std::string(kv_format_name(variant.kv));
    return out;
}

std::string Dispatch::key() const {
    std::string out = name();
    for (const Slot& slot : slots) out += " " + std::string(slot.first->name);
    for (const gpu::Constant& constant : constants) {
        out += lapidary::format(" {}={}", constant.name, std::bit_cast<uint64_t>(constant.value));
    }
    for (const uint8_t number : unbound()) out += lapidary::format(" -{}", number);
    return out;
}

std::vector<gpu::Access> Dispatch::accesses() const {
    std::vector<gpu::Access> out;
    for (const Bound& one : bindings) {
        if (one.use != Use::none) out.push_back(one.access);
    }
    return out;
}

std::vector<uint8_t> Dispatch::unbound() const {
    std::vector<uint8_t> out;
    for (const Bound& one : bindings) {
        if (one.use == Use::none) out.push_back(one.number);
    }
    return out;
}

void Dispatch::begin(const Module& module, Formats packed, const void* values) {
    kernel = &module;
    formats = packed;
    add_constants(module, values);
    declare(module);
}

void Dispatch::fill_slot(std::string_view slot, const Module& module, const void* values) {
    if (values != nullptr) add_constants(module, values);
    slots.push_back({slot, &module});
    declare(module);
}

void Dispatch::bind(uint8_t number, const gpu::Tensor& tensor, Use use) {
    if (!tensor.exists()) return;
    Bound& b = bound(number);
    b.at = tensor.at;
    b.use = use;
}

void Dispatch::bind_words(uint8_t number, std::span<const uint8_t> bytes) {
    Bound& b = bound(number);
    b.use = Use::read;
    b.words = {bytes.begin(), bytes.end()};
}

void Dispatch::declare(const Module& module) {
    for (const ModuleBinding& binding : module.bindings) {
        const auto at = std::ranges::lower_bound(bindings, binding.number, {}, &Bound::number);
        // The program knows the step.
        const bool is_step = binding.name == "step" && binding.access == gpu::Access::read;
        bindings.insert(
            at, Bound{.number = binding.number, .access = binding.access, .use = is_step ? Use::read : Use::none});
    }
}

Dispatch::Bound& Dispatch::bound(uint8_t number) {
    return *std::ranges::find(bindings, number, &Bound::number);
}

// Those that differ from what the WGSL says by itself.
void Dispatch::add_constants(const Module& module, const void* values) {
    for (const ConstantField& field : module.constants) {
        const auto* const at = static_cast<const uint8_t*>(values) + field.offset;
        const auto read = [&]<class T>(const Constant<T>& constant) {
            if (constant.given && double(constant.value) != field.fallback) {
                constants.push_back({field.name, double(constant.value)});
            }
        };
        if (field.is_float) {
            read(*reinterpret_cast<const Constant<float>*>(at));
        } else {
            read(*reinterpret_cast<const Constant<uint32_t>*>(at));
        }
    }
}

}  // namespace lapidary::kernels
