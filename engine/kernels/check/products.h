// What gemv and gemm have in common: y = epilogue(W · x), said slowly.
#pragma once

#include "kernels/check/case.h"
#include "kernels/check/weights.h"
#include "kernels/epilogue.h"
#include "kernels/weights.h"

namespace lapidary::kernels::check {

// Which of the epilogues, without what they read.
enum class EpilogueKind : uint8_t { store, gelu_gate, gelu_times, softcap };

struct Product {
    TensorType type = TensorType::f32;
    uint64_t cols = 32;
    uint64_t out = 1;  // rows of y; W has twice as many with gelu_gate
    uint32_t tokens = 1;
    EpilogueKind epilogue = EpilogueKind::store;
    // Rows of y are part of longer ones: strides and offsets that are not 0.
    bool strided = false;
    // W is a stack of matrices, and each token has `slots` of them, chosen at random.
    uint32_t experts = 0;
    uint32_t slots = 1;
    bool x_per_slot = false;
    // The last rows of W are in another type.
    std::optional<TensorType> below = std::nullopt;
    uint64_t below_rows = 0;

    [[nodiscard]] uint64_t w_rows() const { return epilogue == EpilogueKind::gelu_gate ? 2 * out : out; }
    [[nodiscard]] uint64_t y_stride() const { return strided ? out + 7 : out; }
    [[nodiscard]] uint64_t y_offset() const { return strided ? 3 : 0; }
    [[nodiscard]] uint64_t factor_stride() const { return out + 5; }
    [[nodiscard]] uint64_t factor_offset() const { return 2; }
};

inline constexpr float kCap = 30;

// The soft cap takes the difference of two numbers of the size of the cap.
inline double limit_of(const Product& p) {
    return p.epilogue == EpilogueKind::softcap ? 3e-6 : 1.5e-6;
}

// "17 × 96, 2 tokens, gelu_gate, 8 experts"
std::string shape_of(const Product& p);

// W, which one of the case's arrays holds; its last rows by themselves where they are in another format.
struct Matrix {
    Weights w;
    std::optional<Weights> below;

    [[nodiscard]] const Weights* second() const { return below ? &*below : nullptr; }
};
Matrix matrix_of(const Product& p, const gpu::Tensor& array);

Epilogue epilogue_of(const Product& p, const gpu::Tensor& factors);

// What is multiplied with x, and what the epilogue reads.
struct Operands {
    RandomWeights w;
    std::vector<float> factors;    // [tokens, factor_stride]
    std::vector<uint32_t> chosen;  // [tokens, slots], which expert

    // The factors, or which experts: no product has both.
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
