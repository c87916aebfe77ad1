#include <array>

#include "kernels/check/planes.h"
#include "kernels/check/products.h"
#include "kernels/check/suites.h"

namespace lapidary::kernels::check::walk_cases {
namespace {

// How the work is divided, as the caller of the kernel chooses it.
struct Division {
    uint32_t rows;  // of a seat's step
    uint32_t parts;
    uint32_t groups;            // of each part
    uint32_t first_groups = 0;  // with two formats
};

constexpr uint32_t kThreads = 256;

uint32_t steps_of(const Product& p, const Division& d, uint64_t rows, uint32_t groups) {
    const uint64_t seats = kThreads / (units_of(size_t(p.cols)) / d.parts);
    const uint32_t steps = ceil_div(ceil_div(rows, d.rows), seats * groups);
    return p.finish == Finish::gelu_gate ? 2 * steps : steps;
}

// w, x, y
std::vector<Array> arrays_of(const Product& p, const Division& d, Random& random) {
    const Operands operands = operands_of(p, random);
    const std::vector<float> floats = random.floats(size_t(p.cols));
    const std::vector<double> x(floats.begin(), floats.end());
    Array y = written(random, size_t(d.parts * p.out));
    for (size_t part = 0; part < d.parts; ++part) {
        const size_t columns = x.size() / d.parts;
        std::vector<double> here(x.size());
        std::copy_n(x.begin() + ptrdiff_t(part * columns), columns, here.begin() + ptrdiff_t(part * columns));
        const std::vector<double> results = results_of(p, operands, here);
        std::ranges::copy(results, y.expected.begin() + ptrdiff_t(part * p.out));
    }
    return {given(operands.w.packed), given_planes(x), std::move(y)};
}

struct Test {
    Product product;
    Division division;
};

Case walk(const Test& test) {
    const auto& [p, d] = test;
    std::vector<gpu::Constant> constants = constants_of(p);
    const auto set = [&](std::string_view name, double value) { constants.push_back({name, value}); };
    set("kRows", d.rows);
    set("kParts", d.parts);
    set("kGroups", d.groups);
    uint32_t steps = steps_of(p, d, p.out, d.groups);
    if (p.below) {
        const uint32_t first = steps_of(p, d, p.out - p.below_rows, d.first_groups);
        const uint32_t second = steps_of(p, d, p.below_rows, d.groups - d.first_groups);
        set("kFirstGroups", d.first_groups);
        set("kFirstSteps", first);
        set("kSecondSteps", second);
        steps = std::max(first, second);
    }
    set("kSteps", steps);
    return {.weights = p.type,
            .below = p.below,
            .only = Activations::planes,
            .limit = limit_of(p),
            .dispatches = {{kWalk, std::move(constants), {d.groups * d.parts}}},
            .arrays = [test](Random& random) { return arrays_of(test.product, test.division, random); }};
}

Case described(const Test& test) {
    Case out = walk(test);
    const auto& [p, d] = test;
    out.shape = format("{}, {} workgroups, {} parts, {} rows at a time", shape_of(p), d.groups, d.parts, d.rows);
    return out;
}

using enum TensorType;
using enum Finish;

// Seats: 7 of 36 threads and 4 of 64, so that some have none; rows that end within a seat's, and within a step.
constexpr auto kAtLoad = std::to_array<Test>({
    {{.type = q4_k, .cols = 256 * 9, .out = 61, .finish = gelu_gate}, {4, 1, 2}},
    {{.type = q6_k, .cols = 256 * 16, .out = 75}, {2, 1, 3}},
    {{.type = q5_k, .cols = 256 * 9, .out = 30}, {2, 1, 1}},
    {{.type = q4_0, .cols = 64 * 20, .out = 50}, {2, 1, 2}},
    {{.type = q8_0, .cols = 64 * 20, .out = 50}, {2, 1, 2}},
    {{.type = q5_1, .cols = 256 * 9, .out = 30}, {2, 1, 1}},
});
constexpr auto kMore = std::to_array<Test>({
    // As long as rows of 31B: three seats of 84.
    {{.type = q4_k, .cols = 5376, .out = 37, .finish = gelu_gate}, {4, 1, 2}},
    // In parts of a row.
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
    return cases_of<Test>(kAtLoad, walk, kAtLoad.size());
}

std::vector<Case> all() {
    std::vector<Case> out = cases_of<Test>(kAtLoad, described, kAtLoad.size());
    for (const Test& test : kMore) out.push_back(described(test));
    return out;
}

}  // namespace lapidary::kernels::check::walk_cases
