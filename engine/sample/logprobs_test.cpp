#include "sample/logprobs.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace lapidary::sample {
namespace {

TEST(Logprobs, AreTheLogarithmOfTheSoftmax) {
    const std::vector<float> logits = {1, 3, 2, 3, -std::numeric_limits<float>::infinity()};
    double sum = 0;
    for (const float logit : logits) sum += std::exp(double(logit));
    const TokenScore found = score(logits, 2, 3);
    EXPECT_EQ(found.chosen.token, 2);
    EXPECT_NEAR(found.chosen.logprob, 2 - std::log(sum), 1e-6);
    ASSERT_EQ(found.top.size(), 3u);
    EXPECT_EQ(found.top[0].token, 1);  // the lower id of two equals
    EXPECT_EQ(found.top[1].token, 3);
    EXPECT_EQ(found.top[2], found.chosen);
}

TEST(Logprobs, OfTheImpossibleAreAFiniteNumber) {
    const std::vector<float> logits = {1, std::numeric_limits<float>::quiet_NaN()};
    EXPECT_EQ(score(logits, 1, 5).chosen.logprob, kNoChance);
    EXPECT_EQ(score(logits, 1, 5).top.size(), 1u);
    EXPECT_EQ(score(logits, 99, 0).chosen.logprob, kNoChance);
    EXPECT_TRUE(score({}, 0, 3).top.empty());
}

}  // namespace
}  // namespace lapidary::sample
