#include "kernels/check/sampling.h"
#include "kernels/check/suites.h"
#include "kernels/sample/sampling_ops.h"

namespace lapidary::kernels::check::sample_count_cases {
namespace {

struct Shape {
    uint32_t n;
    uint32_t slices;
    uint32_t impossible = 0;  // every so manyth; 0: none
};

// logits, best, bins
std::vector<Array> arrays_of(const Shape& s, Random& random) {
    std::vector<float> logits = random_logits(random, s.n);
    for (size_t i = 1; s.impossible > 0 && i < logits.size(); i += s.impossible) logits[i] = kImpossible;
    logits[s.n / 2] = -1e30f;  // far below: in the last bin
    const std::vector<uint32_t> counts = counted(logits);
    Array bins = given(std::vector<uint32_t>(kBins + 1));
    bins.expected.assign(counts.begin(), counts.end());
    bins.expected[kBins] = kUntouched;
    return {given(logits), best_of(logits, s.slices), std::move(bins)};
}

Case sample_count(const Shape& s) {
    return {.shape = format("{} logits in {} parts, one in {} impossible", s.n, s.slices, s.impossible),
            .launches = {launch([s](Tensors t) {
                return SampleCount{.logits = t[0], .best = t[1], .bins = t[2], .vocabulary = s.n, .slices = s.slices};
            })},
            .arrays = [s](Random& random) { return arrays_of(s, random); }};
}

}  // namespace

std::vector<Case> all() {
    std::vector<Case> out = {sample_count({.n = 40'001, .slices = 64, .impossible = 7}),
                             sample_count({.n = 40'001, .slices = 64}), sample_count({.n = 17, .slices = 5})};
    out[0].quick = true;
    return out;
}

}  // namespace lapidary::kernels::check::sample_count_cases
