#include "kernels/check/norms.h"
#include "kernels/check/suites.h"

namespace lapidary::kernels::check::turns_cases {
namespace {

// step, rates, turns
std::vector<Array> arrays_of(uint32_t dim, uint32_t position, Random& random) {
    const std::vector<float> expected = turns_of(dim, position);
    Array turns = written(random, expected.size());
    turns.expected.assign(expected.begin(), expected.end());
    return {step(position, 1), given(rates_of(dim)), std::move(turns)};
}

Case turns(uint32_t dim, uint32_t position) {
    const uint32_t pairs = dim / 2;
    return {.shape = format("heads of {}, at {}", dim, position),
            .limit = 1e-6,  // far on, a turn's fraction has few bits left
            .dispatches = {{kTurns, {{"kPairs", double(pairs)}}, {ceil_div(pairs, 64), 1, 1}}},
            .arrays = [=](Random& random) { return arrays_of(dim, position, random); }};
}

}  // namespace

std::vector<Case> all() {
    std::vector<Case> out = {turns(256, 1234), turns(40, 0), turns(512, 131'071)};
    out.front().quick = true;
    return out;
}

}  // namespace lapidary::kernels::check::turns_cases
