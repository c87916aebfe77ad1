#include "kernels/check/products.h"
#include "kernels/check/suites.h"

namespace lapidary::kernels::check {
namespace {

Case matmul(const Product& p) {
    constexpr uint32_t kTile = 64;
    const uint32_t outputs = p.finish == Finish::gelu_gate ? kTile / 2 : kTile;
    // Blocks of tokens are rarely full: one tile of them more than there is anything to do for.
    const Grid grid{ceil_div(p.out, outputs), ceil_div(p.tokens, kTile) + 1, 1};
    return {.shape = shape_of(p),
            .weights = p.type,
            .dispatches = {{kMatmul, constants_of(p), grid}},
            .arrays = [p](Random& random) { return arrays_of(p, random); }};
}

}  // namespace

// Compiling this kernel takes a software GPU seconds: cases of a format share their columns and rows, and with them the
// pipeline.
std::vector<Case> matmul_cases() {
    std::vector<Case> out;
    for (const TensorType type : kOneOfEachFormat) {
        const Product p{.type = type, .cols = odd_columns(type, 3), .out = 67, .tokens = 17};
        out.push_back(matmul(p));
        out.back().quick = true;
        if (type == TensorType::q4_k || type == TensorType::q8_0) {
            for (const uint32_t tokens : {1u, 2u, 15u, 64u, 65u}) {
                Product other = p;
                other.tokens = tokens;
                out.push_back(matmul(other));
            }
        }
    }
    for (const TensorType type : kOthers) out.push_back(matmul({.type = type, .cols = 768, .out = 67, .tokens = 2}));
    out.push_back(matmul({.type = TensorType::f32, .cols = 32, .out = 1, .tokens = 3}));
    out.push_back(
        matmul({.type = TensorType::q4_k, .cols = 256, .out = 37, .tokens = 17, .finish = Finish::gelu_gate}));
    out.push_back(matmul({.type = TensorType::q8_0,
                          .cols = 96,
                          .out = 65,
                          .tokens = 15,
                          .finish = Finish::gelu_times_aux,
                          .strided = true}));
    out.push_back(matmul({.type = TensorType::q6_k, .cols = 256, .out = 257, .tokens = 2, .finish = Finish::softcap}));
    return out;
}

}  // namespace lapidary::kernels::check
