// What a product does with its results before it stores them: a module in a slot of gemv.wgsl and gemm.wgsl.
#pragma once

#include <variant>

#include "kernels/dispatch.h"
#include "kernels/wgsl_modules.h"

namespace lapidary::kernels {

struct Store {};
// y = gelu(a) · b: W has gate's rows, then up's, and half as many results.
struct GeluGate {};
// y = gelu(a) · factors[token, row]
struct GeluTimes {
    gpu::Tensor factors;
    uint64_t offset = 0;  // of the first one in a row of factors
};
// y = cap · tanh(a / cap)
struct SoftcapBy {
    float cap = 0;
};
using Epilogue = std::variant<Store, GeluGate, GeluTimes, SoftcapBy>;

inline bool is_gelu_gate(const Epilogue& epilogue) {
    return std::holds_alternative<GeluGate>(epilogue);
}

template <class K>
void fill_epilogue(Call<K>& d, const Epilogue& epilogue) {
    constexpr std::string_view kSlot = "epilogue";
    if (is_gelu_gate(epilogue)) {
        d.template fill<wgsl::epilogue_gelu_gate>(kSlot);
    } else if (const auto* times = std::get_if<GeluTimes>(&epilogue)) {
        d.template fill<wgsl::epilogue_gelu_times>(
            kSlot, {.kFactorStride = times->factors.stride, .kFactorOffset = times->offset});
        d.read(wgsl::epilogue_gelu_times::Binding::factors, times->factors);
    } else if (const auto* softcap = std::get_if<SoftcapBy>(&epilogue)) {
        d.template fill<wgsl::epilogue_softcap>(kSlot, {.kCap = softcap->cap});
    } else {
        d.template fill<wgsl::epilogue_store>(kSlot);
    }
}

}  // namespace lapidary::kernels
