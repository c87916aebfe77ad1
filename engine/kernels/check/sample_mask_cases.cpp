#include "kernels/check/sampling.h"
#include "kernels/check/suites.h"
#include "kernels/sample/sampling_ops.h"

namespace lapidary::kernels::check::sample_mask_cases {
namespace {

Case sample_mask(uint32_t vocabulary, double allowed) {
    return {.shape = format("{} logits, about {} of them allowed", vocabulary, allowed),
            .launches = {launch(
                [=](Tensors t) { return SampleMask{.mask = t[0], .logits = t[1], .vocabulary = vocabulary}; })},
            .arrays = [=](Random& random) {
                const std::vector<float> logits = random_logits(random, vocabulary);
                std::vector<uint32_t> mask((vocabulary + 31) / 32);
                Array after = in_place(logits);
                for (uint32_t token = 0; token < vocabulary; ++token) {
                    if (double(random.uniform(0, 1)) < allowed) {
                        mask[token / 32] |= 1u << (token % 32);
                    } else {
                        after.expected[token] = double(kImpossible);
                    }
                }
                return std::vector<Array>{given(mask), std::move(after)};
            }};
}

}  // namespace

std::vector<Case> all() {
    std::vector<Case> out = {sample_mask(1000, 0.5), sample_mask(257, 0), sample_mask(64, 0.9), sample_mask(5, 0.5)};
    out[0].quick = true;
    return out;
}

}  // namespace lapidary::kernels::check::sample_mask_cases
