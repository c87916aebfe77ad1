#include "kernels/check/expert_lists.h"
#include "kernels/check/suites.h"
#include "kernels/check/weights.h"
#include "kernels/gemm/gemm_transposed.h"

namespace lapidary::kernels::check::gemm_transposed_cases {
namespace {

struct Shape {
    TensorType type;
    uint64_t cols;
    uint64_t rows;
    uint32_t tokens;
    bool add = false;
    bool strided = false;
    uint32_t experts = 0;
    uint32_t splits = 1;

    // As the kernel has them: whole steps.
    [[nodiscard]] uint64_t split_of(uint64_t row) const {
        return row / ((rows + 32 * splits - 1) / (32 * splits) * 32);
    }
    [[nodiscard]] uint64_t stride() const { return (rows + 3) / 4 * 4 + (strided ? 12 : 0); }
    [[nodiscard]] uint64_t offset() const { return strided ? 8 : 0; }
};

// step, w, dy: [tokens, stride], lists, dx: [splits, tokens, cols]
std::vector<Array> arrays_of(const Shape& s, Random& random) {
    const size_t matrices = std::max(s.experts, 1u);
    const RandomWeights w = random_weights(random, s.type, matrices * s.rows, s.cols);
    const std::vector<float> dy = random.floats(s.tokens * s.stride());
    const size_t apart = s.tokens * s.cols;
    const std::vector<float> before = random.floats(s.splits * apart);
    std::vector<uint32_t> chosen(s.tokens);
    for (uint32_t& expert : chosen) expert = random.below(uint32_t(matrices));
    Array dx = in_place(before);
    for (size_t t = 0; t < s.tokens; ++t) {
        for (size_t i = 0; i < s.cols; ++i) {
            for (size_t split = 0; split < s.splits; ++split) {
                const size_t at = split * apart + t * s.cols + i;
                dx.expected[at] = s.add ? double(before[at]) : 0;
            }
            for (size_t r = 0; r < s.rows; ++r) {
                dx.expected[s.split_of(r) * apart + t * s.cols + i] +=
                    double(w.values[(chosen[t] * s.rows + r) * s.cols + i]) *
                    double(dy[t * s.stride() + s.offset() + r]);
            }
        }
    }
    return {step(0, s.tokens), given(w.packed), given(dy), given(lists_of(chosen, std::max(s.experts, 1u), s.tokens)),
            std::move(dx)};
}

Result<Dispatch> gemm_transposed(const Shape& s, const Target& target, Tensors t) {
    const uint64_t w_rows = std::max(s.experts, 1u) * s.rows;
    const Weights w{
        .format = format_of(s.type), .cols = s.cols, .rows = w_rows, .pieces = {{.binding = t[1].at, .rows = w_rows}}};
    GemmTransposed op{.w = w,
                      .dy = with_stride(t[2], s.stride()),
                      .dx = t[4],
                      .w_rows = s.rows,
                      .dy_offset = s.offset(),
                      .rows = s.tokens + (s.splits > 1 ? 0 : 64),  // a tile more than there is work for
                      .add = s.add,
                      .splits = s.splits};
    if (s.experts > 0) op.experts = {.lists = t[3], .experts = s.experts, .max_rows = s.tokens};
    return op.dispatch(target);
}

Case case_of(const Shape& s) {
    std::string shape = format("{} × {}, {} tokens", s.rows, s.cols, s.tokens);
    if (s.add) shape += ", added";
    if (s.strided) shape += ", strided";
    if (s.experts > 0) shape += format(", {} experts", s.experts);
    if (s.splits > 1) shape += format(", split by {}", s.splits);
    return {.shape = std::move(shape),
            .weights = s.type,
            .limit = 2e-6,
            .launches = {{[s](const Target& target, Tensors t) { return gemm_transposed(s, target, t); }}},
            .arrays = [s](Random& random) { return arrays_of(s, random); }};
}

}  // namespace

std::vector<Case> all() {
    using enum TensorType;
    std::vector<Case> out = {
        case_of({.type = q4_k, .cols = 768, .rows = 67, .tokens = 17}),
        case_of({.type = q5_k, .cols = 256, .rows = 74, .tokens = 66, .add = true}),
        case_of({.type = q6_k, .cols = 256, .rows = 257, .tokens = 2}),
        case_of({.type = q4_0, .cols = 224, .rows = 17, .tokens = 65}),
        case_of({.type = q8_0, .cols = 96, .rows = 65, .tokens = 15, .strided = true}),
        case_of({.type = q5_1, .cols = 768, .rows = 3, .tokens = 17}),
        case_of({.type = f16, .cols = 160, .rows = 64, .tokens = 2, .add = true, .strided = true}),
        case_of({.type = bf16, .cols = 32, .rows = 1, .tokens = 15}),
        case_of({.type = f32, .cols = 96, .rows = 33, .tokens = 64}),
    };
    for (Case& c : out) c.quick = true;
    out.push_back(case_of({.type = q4_k, .cols = 256, .rows = 36, .tokens = 150, .experts = 3}));
    out.push_back(case_of({.type = q4_k, .cols = 768, .rows = 67, .tokens = 1}));
    out.push_back(case_of({.type = q6_k, .cols = 256, .rows = 300, .tokens = 65, .splits = 3}));
    out.push_back(case_of({.type = q8_0, .cols = 96, .rows = 67, .tokens = 5, .add = true, .splits = 4}));
    return out;
}

}  // namespace lapidary::kernels::check::gemm_transposed_cases
