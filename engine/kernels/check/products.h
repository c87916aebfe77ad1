// What matvec and matmul have in common: y = finish(W · x), said slowly.
#pragma once

#include "kernels/check/case.h"
#include "kernels/check/weights.h"

namespace lapidary::kernels::check {

// The numbers of matvec.wgsl.
enum class Finish : uint8_t { plain = 0, gelu_gate = 1, gelu_times_aux = 2, softcap = 3 };

struct Product {
    TensorType type = TensorType::f32;
    uint64_t cols = 32;
    uint64_t out = 1;  // rows of y; W has twice as many with gelu_gate
    uint32_t tokens = 1;
    Finish finish = Finish::plain;
    // Rows of y and aux are part of longer ones: strides and offsets that are not 0.
    bool strided = false;
    // W is a stack of matrices, and each token has `slots` of them, chosen at random.
    uint32_t experts = 0;
    uint32_t slots = 1;
    bool x_per_slot = false;
    // The last rows of W are in another type.
    std::optional<TensorType> below = std::nullopt;
    uint64_t below_rows = 0;

    [[nodiscard]] uint64_t w_rows() const { return finish == Finish::gelu_gate ? 2 * out : out; }
    [[nodiscard]] uint64_t y_stride() const { return strided ? out + 7 : out; }
    [[nodiscard]] uint64_t y_offset() const { return strided ? 3 : 0; }
    [[nodiscard]] uint64_t aux_stride() const { return out + 5; }
    [[nodiscard]] uint64_t aux_offset() const { return 2; }
};

inline constexpr float kCap = 30;

// The soft cap takes the difference of two numbers of the size of the cap.
inline double limit_of(const Product& p) {
    return p.finish == Finish::softcap ? 3e-6 : 1.5e-6;
}

// "17 × 96, 2 tokens, gelu_gate, 8 experts"
std::string shape_of(const Product& p);

// kCols, kOut and what the shape asks for beyond; both kernels know these.
std::vector<gpu::Constant> constants_of(const Product& p);

// What is multiplied with x, and what finishes the product.
struct Operands {
    Weights w;
    std::vector<float> factors;    // [tokens, aux_stride]
    std::vector<uint32_t> chosen;  // [tokens, slots], which expert

    [[nodiscard]] Array aux(const Product& p) const;
};
Operands operands_of(const Product& p, Random& random);

// y of x: [tokens (· slots), cols], with nothing between the rows: [tokens, slots, out]
std::vector<double> results_of(const Product& p, const Operands& operands, std::span<const double> x);
// The same as the kernel leaves it, with strides and offsets.
Array y_of(const Product& p, const Operands& operands, std::span<const double> x, Random& random);

// Rows of x of a product: one a token, or one a slot.
inline size_t x_rows(const Product& p) {
    return size_t(p.tokens) * (p.x_per_slot ? p.slots : 1);
}

double gelu(double x);

}  // namespace lapidary::kernels::check
