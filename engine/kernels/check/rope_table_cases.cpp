#include "kernels/attention/rope_table.h"
#include "kernels/check/norms.h"
#include "kernels/check/suites.h"

namespace lapidary::kernels::check::rope_table_cases {
namespace {

// step, frequencies, rope table
std::vector<Array> arrays_of(uint32_t dim, uint32_t position, Random& random) {
    const std::vector<float> expected = rope_table_of(dim, position);
    Array table = written(random, expected.size());
    table.expected.assign(expected.begin(), expected.end());
    return {step(position, 1), given(frequencies_of(dim)), std::move(table)};
}

Case case_of(uint32_t dim, uint32_t position) {
    return {
        .shape = format("heads of {}, at {}", dim, position),
        .limit = 1e-6,  // far on, a turn's fraction has few bits left
        .launches = {launch([dim](Tensors t) { return RopeTable{.frequencies = t[1], .y = t[2], .pairs = dim / 2}; })},
        .arrays = [=](Random& random) { return arrays_of(dim, position, random); }};
}

}  // namespace

std::vector<Case> all() {
    std::vector<Case> out = {case_of(256, 1234), case_of(40, 0), case_of(512, 131'071)};
    out.front().quick = true;
    return out;
}

}  // namespace lapidary::kernels::check::rope_table_cases
