// Candidates come in any order, so it is their number that is looked at, and which tokens sample_pick draws from them.
#include "kernels/check/sampling.h"
#include "kernels/check/suites.h"
#include "kernels/sample/sampling_ops.h"

namespace lapidary::kernels::check::sample_collect_cases {
namespace {

constexpr uint32_t kPosition = 5;
constexpr uint32_t kDraws = 40;

struct Shape {
    uint32_t n;
    uint32_t slices;
    uint32_t top_k;
    uint32_t impossible = 0;  // every so manyth; 0: none
};

// 0 step, 1 sampling, 2 logits, 3 best, 4 bins, 5 candidates, 6 ids, 7 history
std::vector<Array> arrays_of(const Shape& s, Random& random) {
    std::vector<float> logits = random_logits(random, s.n);
    for (size_t i = 1; s.impossible > 0 && i < logits.size(); i += s.impossible) logits[i] = kImpossible;
    // Hot enough for all of them to be drawn alike.
    const Sampling sampling{.temperature = 30, .top_k = s.top_k, .seed = 0x123456789ABCDEF};
    const std::vector<Candidate> candidates = collected(logits, s.top_k);
    Array bins = given(counted(logits));
    bins.expected.assign(kBins + 1, kUntouched);
    bins.expected[kBins] = double(candidates.size());
    Picked picks = picked(random, sampling, candidates, kPosition, kDraws);
    return {std::move(picks.step),     sampling.array(),        given(logits),
            best_of(logits, s.slices), std::move(bins),         candidates_array(random, {}),
            std::move(picks.ids),      std::move(picks.history)};
}

Case sample_collect(const Shape& s) {
    return {.shape = format("the first {} of {} logits in {} parts, one in {} impossible", s.top_k, s.n, s.slices,
                            s.impossible),
            .launches = {launch([s](Tensors t) {
                             return SampleCollect{.sampling = t[1],
                                                  .logits = t[2],
                                                  .best = t[3],
                                                  .bins = t[4],
                                                  .candidates = t[5],
                                                  .vocabulary = s.n,
                                                  .slices = s.slices};
                         }),
                         pick_launch({0, 1, 4, 5, 6, 7}, kDraws)},
            .arrays = [s](Random& random) { return arrays_of(s, random); }};
}

}  // namespace

std::vector<Case> all() {
    std::vector<Case> out = {
        sample_collect({.n = 40'001, .slices = 64, .top_k = 64, .impossible = 7}),
        sample_collect({.n = 40'001, .slices = 64, .top_k = 256}),
        sample_collect({.n = 40'001, .slices = 64, .top_k = 1}),
        sample_collect({.n = 17, .slices = 5, .top_k = 64, .impossible = 3}),
    };
    out[0].quick = true;
    return out;
}

}  // namespace lapidary::kernels::check::sample_collect_cases
