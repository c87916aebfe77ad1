#include <array>

#include "kernels/check/limbs.h"
#include "kernels/check/products.h"
#include "kernels/check/suites.h"
#include "kernels/gemv/gemv_persistent.h"

namespace lapidary::kernels::check::gemv_persistent_cases {
namespace {

// How the work is divided, as far as a case chooses it.
struct Work {
    uint32_t rows;  // that a row group computes at a time
    uint32_t splits;
    uint32_t groups;            // of workgroups, for each split
    uint32_t first_groups = 0;  // with two formats
};

constexpr uint32_t kThreads = 256;

uint32_t steps_of(const Product& p, const Work& work, uint64_t rows, uint32_t groups) {
    const uint64_t row_groups = kThreads / (units_of(size_t(p.cols)) / work.splits);
    const uint32_t steps = ceil_div(ceil_div(rows, work.rows), row_groups * groups);
    return p.epilogue == EpilogueKind::gelu_gate ? 2 * steps : steps;
}

PersistentTiling tiling_of(const Product& p, const Work& work) {
    PersistentTiling out{.splits = work.splits, .rows = work.rows, .groups = work.groups};
    out.first_groups = p.below ? work.first_groups : work.groups;
    out.first_steps = steps_of(p, work, p.out - p.below_rows, out.first_groups);
    if (p.below) out.second_steps = steps_of(p, work, p.below_rows, work.groups - out.first_groups);
    return out;
}

// w, x, y
std::vector<Array> arrays_of(const Product& p, const Work& work, Random& random) {
    const Operands operands = operands_of(p, random);
    const std::vector<float> floats = random.floats(size_t(p.cols));
    const std::vector<double> x(floats.begin(), floats.end());
    Array y = written(random, size_t(work.splits * p.out));
    for (size_t split = 0; split < work.splits; ++split) {
        const size_t columns = x.size() / work.splits;
        std::vector<double> here(x.size());
        std::copy_n(x.begin() + ptrdiff_t(split * columns), columns, here.begin() + ptrdiff_t(split * columns));
        const std::vector<double> results = results_of(p, operands, here);
        std::ranges::copy(results, y.expected.begin() + ptrdiff_t(split * p.out));
    }
    return {given(operands.w.packed), given_limbs(x), std::move(y)};
}

struct Test {
    Product product;
    Work work;
};

Result<Dispatch> gemv_persistent(const Test& test, const Target& target, Tensors t) {
    const Product& p = test.product;
    const Matrix matrix = matrix_of(p, t[0]);
    return GemvPersistent{.w = matrix.w,
                          .below = matrix.second(),
                          .x = t[1],
                          .y = t[2],
                          .out = p.out,
                          .gelu_gate = p.epilogue == EpilogueKind::gelu_gate,
                          .tiling = tiling_of(p, test.work)}
        .dispatch(target);
}

Case case_of(const Test& test) {
    return {.weights = test.product.type,
            .below = test.product.below,
            .only = Activations::limbs,
            .limit = limit_of(test.product),
            .launches = {{[test](const Target& target, Tensors t) { return gemv_persistent(test, target, t); }}},
            .arrays = [test](Random& random) { return arrays_of(test.product, test.work, random); }};
}

Case described(const Test& test) {
    Case out = case_of(test);
    const auto& [p, work] = test;
    out.shape =
        format("{}, {} workgroups, {} parts, {} rows at a time", shape_of(p), work.groups, work.splits, work.rows);
    return out;
}

using enum TensorType;
using enum EpilogueKind;

// Row groups: 7 of 36 threads and 4 of 64, so that some threads are in none; rows that end within a group's, and within a
// step.
constexpr auto kAtLoad = std::to_array<Test>({
    {{.type = q4_k, .cols = 256 * 9, .out = 61, .epilogue = gelu_gate}, {4, 1, 2}},
    {{.type = q6_k, .cols = 256 * 16, .out = 75}, {2, 1, 3}},
    {{.type = q5_k, .cols = 256 * 9, .out = 30}, {2, 1, 1}},
    {{.type = q4_0, .cols = 64 * 20, .out = 50}, {2, 1, 2}},
    {{.type = q8_0, .cols = 64 * 20, .out = 50}, {2, 1, 2}},
    {{.type = q5_1, .cols = 256 * 9, .out = 30}, {2, 1, 1}},
});
constexpr auto kMore = std::to_array<Test>({
    // As long as rows of 31B: three row groups of 84.
    {{.type = q4_k, .cols = 5376, .out = 37, .epilogue = gelu_gate}, {4, 1, 2}},
    // In splits of a row.
    {{.type = q4_k, .cols = 256 * 12, .out = 41}, {2, 4, 2}},
    {{.type = q6_k, .cols = 256 * 18, .out = 13}, {4, 2, 1}},
    // More workgroups than there is work for.
    {{.type = q4_k, .cols = 256 * 64, .out = 7}, {2, 1, 5}},
    // The last rows in another format.
    {{.type = q4_k, .cols = 256 * 9, .out = 57, .below = q6_k, .below_rows = 21}, {2, 1, 3, 2}},
    {{.type = q5_k, .cols = 256 * 9, .out = 70, .below = q5_1, .below_rows = 30}, {4, 1, 2, 1}},
});

}  // namespace

std::vector<Case> at_load() {
    return cases_of<Test>(kAtLoad, case_of, kAtLoad.size());
}

std::vector<Case> all() {
    std::vector<Case> out = cases_of<Test>(kAtLoad, described, kAtLoad.size());
    for (const Test& test : kMore) out.push_back(described(test));
    return out;
}

}  // namespace lapidary::kernels::check::gemv_persistent_cases
