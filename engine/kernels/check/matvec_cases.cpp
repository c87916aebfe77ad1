#include "kernels/check/products.h"
#include "kernels/check/suites.h"

namespace lapidary::kernels::check {
namespace {

// How the work is divided, as the caller of the kernel chooses it.
struct Division {
    uint32_t lanes;  // threads a row
    uint32_t rows;   // of W, a group of lanes
};

Case matvec(const Product& p, Division d) {
    constexpr uint32_t kThreads = 128;
    std::vector<gpu::Constant> constants = constants_of(p);
    constants.push_back({"kLanes", double(d.lanes)});
    constants.push_back({"kRows", double(d.rows)});
    constants.push_back({"kThreads", double(kThreads)});
    if (p.experts > 0) {
        constants.push_back({"kExperts", double(p.slots)});
        constants.push_back({"kWRows", double(p.w_rows())});
        constants.push_back({"kXPerSlot", p.x_per_slot ? 1.0 : 0.0});
    }
    const uint64_t outputs = p.finish == Finish::gelu_gate ? d.rows / 2 : d.rows;
    // One token more than there is: the kernel must see that it has nothing to do.
    const Grid grid{ceil_div(p.out, kThreads / d.lanes * outputs), p.tokens + 1, p.slots};
    return {.shape = shape_of(p) + format(", {} lanes × {}", d.lanes, d.rows),
            .weights = p.type,
            .limit = limit_of(p),
            .dispatches = {{kMatvec, std::move(constants), grid}},
            .arrays = [p](Random& random) { return arrays_of(p, random); }};
}

}  // namespace

// Compiling takes a software GPU most of a second each, so every format gets a division of the work and a finish of its
// own, rather than all of them.
std::vector<Case> matvec_cases() {
    using enum TensorType;
    using enum Finish;
    std::vector<Case> out = {
        matvec({.type = q4_k, .cols = 256 * 9, .out = 257}, {8, 4}),
        matvec({.type = q5_k, .cols = 768, .out = 17, .tokens = 2, .finish = gelu_gate}, {4, 2}),
        matvec({.type = q6_k, .cols = 256 * 5, .out = 257, .finish = softcap}, {16, 1}),
        matvec({.type = q4_0, .cols = 32 * 67, .out = 33}, {64, 2}),
        matvec({.type = q8_0, .cols = 32 * 33, .out = 3, .tokens = 15}, {32, 4}),
        matvec({.type = q5_1, .cols = 768, .out = 17, .tokens = 2}, {4, 2}),
        matvec({.type = f16, .cols = 96, .out = 17, .tokens = 3, .finish = gelu_times_aux, .strided = true}, {2, 4}),
        matvec({.type = bf16, .cols = 160, .out = 1, .tokens = 2}, {1, 1}),
        matvec({.type = f32, .cols = 32, .out = 17, .tokens = 17, .strided = true}, {1, 2}),
    };
    for (Case& c : out) c.quick = true;
    // The rest of what becomes i8 shares a pipeline with Q5_1.
    for (const TensorType type : kOthers) {
        out.push_back(matvec({.type = type, .cols = 768, .out = 17, .tokens = 1}, {4, 2}));
    }
    out.push_back(matvec({.type = q4_k, .cols = 256, .out = 17, .finish = gelu_gate}, {8, 4}));
    // Experts: gate and up of one x, then down of an x of each slot.
    out.push_back(matvec(
        {.type = q4_k, .cols = 256, .out = 17, .tokens = 15, .finish = gelu_gate, .experts = 5, .slots = 2}, {4, 2}));
    out.push_back(matvec(
        {.type = q4_0, .cols = 96, .out = 24, .tokens = 2, .experts = 7, .slots = 3, .x_per_slot = true}, {2, 4}));
    out.back().quick = true;
    return out;
}

}  // namespace lapidary::kernels::check
