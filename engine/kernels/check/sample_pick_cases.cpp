#include <algorithm>

#include "kernels/check/sampling.h"
#include "kernels/check/suites.h"

namespace lapidary::kernels::check::sample_pick_cases {
namespace {

constexpr uint32_t kPosition = 3;

struct Shape {
    std::string name;
    uint32_t candidates;
    Sampling sampling;
    bool equal = false;  // all of the candidates: the lower ids come first
    uint32_t draws = 40;
};

// step, sampling, bins, candidates, ids, history
std::vector<Array> arrays_of(const Shape& s, Random& random) {
    const std::vector<float> logits = random_logits(random, s.candidates);
    std::vector<Candidate> candidates;
    for (uint32_t i = 0; i < s.candidates; ++i) candidates.push_back({s.equal ? 2.5f : logits[i], 100 + 7 * i});
    for (size_t i = candidates.size(); i > 1; --i) std::swap(candidates[i - 1], candidates[random.below(uint32_t(i))]);
    std::vector<uint32_t> bins(kBins + 1);
    bins[kBins] = s.candidates;
    Picked picks = picked(random, s.sampling, candidates, kPosition, s.draws);
    return {std::move(picks.step), s.sampling.array(),      given(bins), candidates_array(random, candidates),
            std::move(picks.ids),  std::move(picks.history)};
}

Case sample_pick(const Shape& s) {
    return {.shape = format("{} from {} candidates", s.name, s.candidates),
            .launches = {pick_launch({0, 1, 2, 3, 4, 5}, s.draws)},
            .arrays = [s](Random& random) { return arrays_of(s, random); }};
}

}  // namespace

std::vector<Case> all() {
    const Sampling usual{.top_p = 0.95f, .top_k = 64, .seed = 77};
    const Sampling hot{.temperature = 3, .min_p = 0.02f, .top_k = 200, .seed = 0xFEDCBA9876543210};
    const Sampling greedy{.temperature = 0, .top_k = 1};
    std::vector<Case> out = {
        sample_pick({.name = "top 64, top-p", .candidates = 90, .sampling = usual}),
        sample_pick({.name = "top 200, min-p, hot", .candidates = 1024, .sampling = hot}),
        sample_pick({.name = "top 64, all equal", .candidates = 300, .sampling = usual, .equal = true}),
        sample_pick({.name = "the likeliest", .candidates = 5, .sampling = greedy, .draws = 2}),
        sample_pick({.name = "the only one", .candidates = 1, .sampling = usual, .draws = 2}),
        sample_pick({.name = "nothing", .candidates = 1025, .sampling = usual, .draws = 2}),
        sample_pick({.name = "nothing", .candidates = 0, .sampling = usual, .draws = 1}),
    };
    out[0].quick = true;
    return out;
}

}  // namespace lapidary::kernels::check::sample_pick_cases
