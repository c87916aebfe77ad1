#include <algorithm>

#include "kernels/check/suites.h"
#include "kernels/train/softmax.h"

namespace lapidary::kernels::check::softmax_cases {
namespace {

struct Shape {
    uint32_t heads;
    uint32_t first;  // query
    uint32_t block;  // queries
    uint32_t tokens;
    uint32_t row;
    uint32_t window = 0;
    uint32_t example = 1000;  // tokens of each
};

// The keys a query sees.
std::pair<uint32_t, uint32_t> seen_by(const Shape& s, uint32_t query) {
    uint32_t begin = query / s.example * s.example;
    if (s.window > 0 && query + 1 > s.window) begin = std::max(begin, query + 1 - s.window);
    return {begin, query + 1};
}

// step, position ids, scores: [heads, block, row]
std::vector<Array> arrays_of(const Shape& s, Random& random) {
    const std::vector<float> before = random.floats(size_t(s.heads) * s.block * s.row, -4, 4);
    std::vector<uint32_t> position_ids;
    for (uint32_t t = 0; t < s.tokens; ++t)
        position_ids.insert(position_ids.end(), {t % s.example, t / s.example * s.example});
    Array scores = in_place(before);
    for (uint32_t i = 0; i < s.heads * s.block; ++i) {
        const uint32_t query = s.first + i % s.block;
        if (query >= s.tokens) continue;
        const auto [begin, end] = seen_by(s, query);
        const size_t row = size_t(i) * s.row;
        double sum = 0;
        for (size_t k = begin; k < end; ++k) sum += std::exp(double(before[row + k]));
        for (size_t k = 0; k < s.tokens; ++k) {
            scores.expected[row + k] = k >= begin && k < end ? std::exp(double(before[row + k])) / sum : 0;
        }
    }
    return {step(0, s.tokens), given(position_ids), std::move(scores)};
}

// step, p, dp
std::vector<Array> back_arrays_of(const Shape& s, Random& random) {
    std::vector<float> p = random.floats(size_t(s.heads) * s.block * s.row, 0, 1);
    const std::vector<float> before = random.floats(p.size());
    Array dp = in_place(before);
    for (uint32_t i = 0; i < s.heads * s.block; ++i) {
        const uint32_t query = s.first + i % s.block;
        if (query >= s.tokens) continue;
        const auto [begin, end] = seen_by(s, query);
        const size_t row = size_t(i) * s.row;
        double sum = 0;
        for (size_t k = 0; k < s.tokens; ++k) {
            if (k < begin || k >= end) p[row + k] = 0;
            sum += double(p[row + k]) * double(before[row + k]);
        }
        for (size_t k = 0; k < s.tokens; ++k) {
            dp.expected[row + k] = double(p[row + k]) * (double(before[row + k]) - sum);
        }
    }
    return {step(0, s.tokens), given(p), std::move(dp)};
}

Launch forwards(const Shape& s) {
    return launch([s](Tensors t) {
        return Softmax{.position_ids = t[1],
                       .scores = t[2],
                       .first = s.first,
                       .block = s.block,
                       .keys = s.row,
                       .heads = s.heads,
                       .visible = {.window = s.window}};
    });
}

Launch back(const Shape& s) {
    return launch([s](Tensors t) {
        return SoftmaxBackward{
            .p = t[1], .dp = t[2], .first = s.first, .block = s.block, .keys = s.row, .heads = s.heads};
    });
}

std::vector<Case> cases_of(Launch (*launch)(const Shape&), std::vector<Array> (*arrays)(const Shape&, Random&)) {
    std::vector<Case> out;
    for (const Shape& s : {Shape{.heads = 2, .first = 64, .block = 64, .tokens = 101, .row = 130, .window = 33},
                           Shape{.heads = 3, .first = 0, .block = 20, .tokens = 17, .row = 20, .example = 6},
                           Shape{.heads = 1, .first = 0, .block = 4, .tokens = 1, .row = 4, .window = 2}}) {
        out.push_back(
            {.shape = format("{} heads, queries {} … of {} tokens, window {}", s.heads, s.first, s.tokens, s.window),
             .limit = 4e-6,
             .launches = {launch(s)},
             .arrays = [s, arrays](Random& random) { return arrays(s, random); }});
    }
    out.front().quick = true;
    return out;
}

}  // namespace

std::vector<Case> softmax() {
    return cases_of(forwards, arrays_of);
}

std::vector<Case> softmax_backward() {
    return cases_of(back, back_arrays_of);
}

}  // namespace lapidary::kernels::check::softmax_cases
