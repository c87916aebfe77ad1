#include <array>

#include "kernels/check/expert_lists.h"
#include "kernels/check/products.h"
#include "kernels/check/suites.h"
#include "kernels/gemm/gemm.h"

namespace lapidary::kernels::check::gemm_cases {
namespace {

// step, w, x, aux, y
std::vector<Array> arrays_of(const Product& p, Random& random) {
    const Operands operands = operands_of(p, random);
    const std::vector<float> x = random.floats(x_rows(p) * size_t(p.cols));
    Array y = y_of(p, operands, std::vector<double>(x.begin(), x.end()), random);
    const uint32_t slots = p.tokens * p.slots;
    Array aux = p.experts > 0 ? given(lists_of(operands.chosen, p.experts, slots)) : operands.aux(p);
    return {step(0, p.tokens), given(operands.w.packed), given(x), std::move(aux), std::move(y)};
}

// Blocks of tokens are rarely full: there is a tile of them more than there is anything to do for.
Result<Dispatch> gemm(const Product& p, GemmTiling tile, const Target& target, Tensors t) {
    const Matrix matrix = matrix_of(p, t[1]);
    Gemm op{.w = matrix.w,
            .x = t[2],
            .y = with_stride(t[4], p.y_stride()),
            .out = p.out,
            .y_offset = p.y_offset(),
            .rows = p.tokens + tile.tokens(),
            .epilogue = epilogue_of(p, t[3]),
            .tiling = tile};
    if (p.experts > 0) {
        op.experts = {
            .lists = t[3], .experts = p.experts, .max_rows = p.tokens * p.slots, .share = p.x_per_slot ? 1 : p.slots};
    }
    return op.dispatch(target);
}

Case case_of(const Product& p, GemmTiling tile = {}) {
    return {.weights = p.type,
            .workgroup_bytes = tile.bytes(),
            .limit = limit_of(p),
            .launches = {{[=](const Target& target, Tensors t) { return gemm(p, tile, target, t); }}},
            .arrays = [p](Random& random) { return arrays_of(p, random); }};
}

Case described(const Product& p, GemmTiling tile = {}) {
    Case out = case_of(p, tile);
    out.shape = shape_of(p) + format(", in tiles of {} × {}", tile.rows(), tile.tokens());
    return out;
}

using enum TensorType;
using enum EpilogueKind;
constexpr Product kQ4Case{.type = q4_k, .cols = 768, .out = 67, .tokens = 17};
constexpr Product kI8Case{.type = q5_1, .cols = 768, .out = 3, .tokens = 17};

constexpr auto kAtLoad = std::to_array<Product>({
    kQ4Case,
    {.type = q5_k, .cols = 256, .out = 37, .tokens = 17, .epilogue = gelu_gate},
    {.type = q6_k, .cols = 256, .out = 257, .tokens = 2, .epilogue = softcap},
    {.type = q4_0, .cols = 224, .out = 17, .tokens = 65},
    {.type = q8_0, .cols = 96, .out = 65, .tokens = 15, .epilogue = gelu_times, .strided = true},
    kI8Case,
    {.type = f16, .cols = 160, .out = 64, .tokens = 2, .strided = true},
    {.type = bf16, .cols = 32, .out = 1, .tokens = 15},
    {.type = f32, .cols = 96, .out = 33, .tokens = 64},
});

}  // namespace

// Compiling takes a software GPU seconds, so every format gets a shape and an epilogue of its own. The number of tokens
// costs nothing.
std::vector<Case> at_load() {
    return cases_of<Product>(kAtLoad, [](const Product& p) { return case_of(p); }, kAtLoad.size());
}

std::vector<Case> all() {
    std::vector<Case> out = cases_of<Product>(kAtLoad, [](const Product& p) { return described(p); }, kAtLoad.size());
    for (const uint32_t tokens : {1u, 2u, 15u, 64u, 65u}) {
        Product p = kQ4Case;
        p.tokens = tokens;
        out.push_back(described(p));
    }
    // Larger tiles; not all rows and tokens of the last one are there.
    for (const GemmTiling tile : {GemmTiling{8, 16}, {5, 16}, {6, 8}}) {
        out.push_back(described({.type = q4_k,
                                 .cols = 256,
                                 .out = 130,
                                 .tokens = 131,
                                 .epilogue = tile.rows_per_thread % 2 == 0 ? gelu_gate : store},
                                tile));
    }
    // Each token goes to three of five matrices; one of them has more than a tile of slots.
    for (const uint32_t usual : {64u, 8u}) {
        const GemmTiling tile = grouped_tiling(usual);
        out.push_back(described({.type = q4_k, .cols = 256, .out = 37, .tokens = 140, .experts = 5, .slots = 3}, tile));
        out.push_back(described(
            {.type = q4_k, .cols = 256, .out = 37, .tokens = 9, .experts = 5, .slots = 3, .x_per_slot = true}, tile));
    }
    const GemmTiling few = grouped_tiling(1);
    out.push_back(described(
        {.type = q4_k, .cols = 256, .out = 70, .tokens = 67, .epilogue = gelu_gate, .experts = 5, .slots = 3}, few));
    out.push_back(described({.type = q8_0, .cols = 96, .out = 70, .tokens = 33, .experts = 5, .slots = 2}, few));
    for (const TensorType type : kOthers) {
        Product p = kI8Case;
        p.type = type;
        out.push_back(described(p));
    }
    return out;
}

}  // namespace lapidary::kernels::check::gemm_cases
