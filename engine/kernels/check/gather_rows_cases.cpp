#include "kernels/check/case.h"
#include "kernels/check/suites.h"
#include "kernels/check/weights.h"
#include "kernels/embed/embed_ops.h"

namespace lapidary::kernels::check::gather_rows_cases {
namespace {

struct Shape {
    TensorType type;
    uint64_t cols;
    uint32_t rows;       // of this part of the table
    uint32_t first_row;  // ids below it, and from first_row + rows on, belong to other parts
    uint32_t tokens;
};
constexpr float kScale = 1.5f;

// step, w, ids, y
std::vector<Array> arrays_of(const Shape& s, Random& random) {
    const RandomWeights w = random_weights(random, s.type, s.rows, s.cols);
    std::vector<uint32_t> ids(s.tokens);
    for (uint32_t& id : ids) id = random.below(s.first_row + s.rows + s.first_row);
    ids[0] = s.first_row;
    ids[s.tokens - 1] = s.first_row + s.rows - 1;
    Array y = written(random, size_t(s.tokens * s.cols));
    for (uint64_t t = 0; t < s.tokens; ++t) {
        if (ids[size_t(t)] < s.first_row || ids[size_t(t)] >= s.first_row + s.rows) continue;
        const uint64_t row = ids[size_t(t)] - s.first_row;
        for (uint64_t i = 0; i < s.cols; ++i) {
            y.expected[size_t(t * s.cols + i)] = double(kScale) * double(w.values[size_t(row * s.cols + i)]);
        }
    }
    return {step(5, s.tokens), given(w.packed), given(ids), std::move(y)};
}

Case gather(const Shape& s) {
    return {
        .shape = format("{} × {} from row {}, {} tokens", s.rows, s.cols, s.first_row, s.tokens),
        .weights = s.type,
        .limit = 1e-6,
        .launches = {{[s](const Target& target, Tensors t) {
            const Weights w{.format = format_of(s.type),
                            .cols = s.cols,
                            .rows = s.rows,
                            .pieces = {{.binding = t[1].at, .first_row = s.first_row, .rows = s.rows}}};
            return GatherRows{.w = w, .ids = t[2], .y = t[3], .rows = s.tokens + 1, .scale = kScale}.dispatch(target);
        }}},
        .arrays = [s](Random& random) { return arrays_of(s, random); }};
}

}  // namespace

std::vector<Case> all() {
    std::vector<Case> out;
    for (const TensorType type : kOneOfEachFormat) {
        const bool is_i8 = format_of(type) == Format::i8;
        out.push_back(gather({type, is_i8 ? 768 : odd_columns(type, 5), 17, 0, 15}));
        out.back().quick = true;
    }
    for (const TensorType type : kOthers) out.push_back(gather({type, 768, 17, 0, 15}));
    out.push_back(gather({TensorType::q8_0, 96, 3, 9, 17}));
    out.push_back(gather({TensorType::q6_k, 256 * 9, 257, 0, 2}));
    out.push_back(gather({TensorType::f32, 32, 1, 0, 1}));
    return out;
}

}  // namespace lapidary::kernels::check::gather_rows_cases
