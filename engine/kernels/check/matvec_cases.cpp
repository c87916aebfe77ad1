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
            .dispatches = {{kMatvec, std::move(constants), grid}},
            .arrays = [p](Random& random) { return arrays_of(p, random); }};
}

}  // namespace

std::vector<Case> matvec_cases() {
    std::vector<Case> out;
    for (const TensorType type : kOneOfEachFormat) {
        out.push_back(matvec({.type = type, .cols = odd_columns(type, 3), .out = 17, .tokens = 2}, {4, 2}));
        out.back().quick = true;
    }
    // The rest of what becomes i8 shares one pipeline.
    for (const TensorType type : kOthers) {
        out.push_back(matvec({.type = type, .cols = 768, .out = 17, .tokens = 1}, {4, 2}));
    }
    // Every division of the work, and ends that do not fit.
    out.push_back(matvec({.type = TensorType::f32, .cols = 32, .out = 1}, {1, 1}));
    out.push_back(matvec({.type = TensorType::q8_0, .cols = 32 * 33, .out = 3, .tokens = 15}, {32, 4}));
    out.push_back(matvec({.type = TensorType::q4_0, .cols = 32 * 67, .out = 257}, {64, 2}));
    out.push_back(matvec({.type = TensorType::q4_k, .cols = 256 * 9, .out = 257}, {8, 4}));
    out.push_back(matvec({.type = TensorType::q6_k, .cols = 256 * 5, .out = 3, .tokens = 17}, {16, 1}));
    // Every way to finish.
    out.push_back(matvec({.type = TensorType::q4_k, .cols = 768, .out = 17, .finish = Finish::gelu_gate}, {8, 4}));
    out.push_back(
        matvec({.type = TensorType::q8_0, .cols = 96, .out = 33, .tokens = 2, .finish = Finish::gelu_gate}, {2, 2}));
    out.push_back(matvec({.type = TensorType::f16,
                          .cols = 96,
                          .out = 17,
                          .tokens = 3,
                          .finish = Finish::gelu_times_aux,
                          .strided = true},
                         {4, 4}));
    out.push_back(matvec({.type = TensorType::q6_k, .cols = 256, .out = 257, .finish = Finish::softcap}, {8, 1}));
    // Experts: gate and up of one x, then down of an x of each slot.
    out.push_back(matvec({.type = TensorType::q4_k,
                          .cols = 256,
                          .out = 17,
                          .tokens = 15,
                          .finish = Finish::gelu_gate,
                          .experts = 5,
                          .slots = 2},
                         {4, 2}));
    out.push_back(matvec(
        {.type = TensorType::q4_0, .cols = 96, .out = 24, .tokens = 2, .experts = 7, .slots = 3, .x_per_slot = true},
        {2, 4}));
    return out;
}

}  // namespace lapidary::kernels::check
