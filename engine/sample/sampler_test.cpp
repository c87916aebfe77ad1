#include "sample/sampler.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <set>

namespace lapidary::sample {
namespace {

// Logits that look like a model's: a few likely tokens, a long tail, some ties.
std::vector<float> random_logits(uint32_t size, uint64_t seed) {
    std::vector<float> logits(size);
    for (uint32_t i = 0; i < size; ++i) logits[i] = std::round((uniform(seed, i) * 40 - 20) * 4) / 4;
    return logits;
}

std::set<int32_t> tokens_of(const std::vector<Choice>& choices) {
    std::set<int32_t> out;
    for (const Choice& choice : choices) out.insert(choice.token);
    return out;
}

TEST(Sampler, GreedyTakesTheLargestAndTheLowerIdOnATie) {
    const Sampler greedy({.temperature = 0});
    EXPECT_EQ(greedy.sample(std::vector<float>{1, 3, 3, 2}, 0)->token, 1);
}

TEST(Sampler, SkipsWhatIsNotANumberAndFailsWhenNothingIsLeft) {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    const float inf = std::numeric_limits<float>::infinity();
    for (const float temperature : {0.0f, 1.0f}) {
        const Sampler sampler({.temperature = temperature});
        EXPECT_EQ(sampler.sample(std::vector<float>{nan, 1, inf, -inf}, 0)->token, 1);
        EXPECT_FALSE(sampler.sample(std::vector<float>{nan, nan}, 0));
    }
}

// Properties that hold for every distribution, over many random ones and parameter mixes.
TEST(Sampler, DistributionsSumToOneAreSortedAndRespectEveryFilter) {
    for (uint64_t seed = 0; seed < 200; ++seed) {
        const auto logits = random_logits(1 + uint32_t(seed % 97), seed);
        Params params{.temperature = 0.2f + 2 * uniform(seed, 1000),
                      .top_k = int32_t(seed % 7) * 3,
                      .top_p = 0.05f + 0.95f * uniform(seed, 1001),
                      .min_p = 0.3f * uniform(seed, 1002)};
        const Sampler sampler(params);
        const auto choices = *sampler.distribution(logits);
        double sum = 0;
        for (size_t i = 0; i < choices.size(); ++i) {
            sum += choices[i].probability;
            if (i > 0) EXPECT_LE(choices[i].probability, choices[i - 1].probability);
        }
        EXPECT_NEAR(sum, 1, 1e-5);
        EXPECT_EQ(choices.front().token, argmax(logits));
        if (params.top_k > 0) EXPECT_LE(choices.size(), size_t(params.top_k));

        // Each filter can only take away.
        params.top_p = 1;
        params.min_p = 0;
        const auto wider = tokens_of(*Sampler(params).distribution(logits));
        for (const Choice& choice : choices) EXPECT_TRUE(wider.contains(choice.token));
    }
}

TEST(Sampler, TopPKeepsTheSmallestSetThatReachesP) {
    // Probabilities 0.5, 0.25, 0.125, 0.125.
    const std::vector<float> logits = {std::log(4.0f), std::log(2.0f), 0, 0};
    const auto kept = [&](float p) { return Sampler({.top_p = p}).distribution(logits)->size(); };
    EXPECT_EQ(kept(0.4f), 1u);
    EXPECT_EQ(kept(0.6f), 2u);
    EXPECT_EQ(kept(0.8f), 3u);
    EXPECT_EQ(kept(1.0f), 4u);
    EXPECT_EQ(kept(0.0f), 1u);  // never nothing
}

TEST(Sampler, MinPIsRelativeToTheBest) {
    const std::vector<float> logits = {std::log(4.0f), std::log(2.0f), 0, 0};
    EXPECT_EQ(Sampler({.min_p = 0.3f}).distribution(logits)->size(), 2u);
    EXPECT_EQ(Sampler({.min_p = 0.6f}).distribution(logits)->size(), 1u);
}

TEST(Sampler, TemperatureSharpensAndFlattens) {
    const std::vector<float> logits = {2, 1, 0};
    const float cold = Sampler({.temperature = 0.5f}).distribution(logits)->front().probability;
    const float plain = Sampler({}).distribution(logits)->front().probability;
    const float hot = Sampler({.temperature = 2}).distribution(logits)->front().probability;
    EXPECT_GT(cold, plain);
    EXPECT_GT(plain, hot);
    EXPECT_NEAR(plain, 0.66524096f, 1e-6);
}

TEST(Sampler, PenaltiesActOnRecentTokensOnlyAndForgetOldOnes) {
    Sampler sampler({.temperature = 0, .repeat_penalty = 2, .penalty_window = 2});
    const std::vector<float> logits = {5, 4, -1};
    sampler.accept(0);
    EXPECT_EQ(sampler.sample(logits, 0)->token, 1);  // 5 / 2 < 4
    sampler.accept(2);
    sampler.accept(2);  // pushes 0 out of the window
    EXPECT_EQ(sampler.sample(logits, 0)->token, 0);
}

TEST(Sampler, PresenceCountsOnceAndFrequencyEveryTime) {
    const std::vector<float> logits = {5, 4, 0};
    Sampler presence({.temperature = 0, .presence_penalty = 0.6f});
    Sampler frequency({.temperature = 0, .frequency_penalty = 0.6f});
    for (Sampler* sampler : {&presence, &frequency}) {
        sampler->accept(0);
        sampler->accept(0);
    }
    EXPECT_EQ(presence.sample(logits, 0)->token, 0);   // 5 - 0.6
    EXPECT_EQ(frequency.sample(logits, 0)->token, 1);  // 5 - 1.2
}

TEST(Sampler, BiasCanForceAndForbid) {
    const std::vector<float> logits = {5, 4, 0};
    EXPECT_EQ(Sampler({.temperature = 0, .logit_bias = {{2, 100}}}).sample(logits, 0)->token, 2);
    const float never = -std::numeric_limits<float>::infinity();
    EXPECT_EQ(Sampler({.temperature = 0, .logit_bias = {{0, never}}}).sample(logits, 0)->token, 1);
    const auto choices = *Sampler({.logit_bias = {{0, never}}}).distribution(logits);
    EXPECT_FALSE(tokens_of(choices).contains(0));
}

TEST(Sampler, SameSeedSameTextAndOtherSeedsDiffer) {
    const auto logits = random_logits(500, 7);
    const auto draw = [&](uint64_t seed) {
        const Sampler sampler({.temperature = 20, .seed = seed});
        std::vector<int32_t> tokens;
        for (uint32_t step = 0; step < 50; ++step) tokens.push_back(sampler.sample(logits, step)->token);
        return tokens;
    };
    EXPECT_EQ(draw(1), draw(1));
    EXPECT_NE(draw(1), draw(2));
    EXPECT_NE(draw(1), draw(1ull << 32 | 1));
}

TEST(Sampler, DrawsAsOftenAsTheProbabilitiesSay) {
    const std::vector<float> logits = {std::log(4.0f), std::log(2.0f), 0, 0};
    const Sampler sampler({.seed = 42});
    std::vector<int> seen(4);
    constexpr int kDraws = 40000;
    for (uint32_t step = 0; step < kDraws; ++step) ++seen[size_t(sampler.sample(logits, step)->token)];
    const std::vector<double> expected = {0.5, 0.25, 0.125, 0.125};
    for (size_t i = 0; i < 4; ++i) EXPECT_NEAR(double(seen[i]) / kDraws, expected[i], 0.01);
}

TEST(Random, IsUniformOverStepsAndSeeds) {
    std::vector<int> buckets(16);
    constexpr uint32_t kDraws = 64000;
    for (uint32_t i = 0; i < kDraws; ++i) {
        const float u = uniform(i % 250, i / 250);
        ASSERT_GE(u, 0.0f);
        ASSERT_LT(u, 1.0f);
        ++buckets[size_t(u * 16)];
    }
    double chi = 0;
    for (const int count : buckets) chi += std::pow(count - kDraws / 16.0, 2) / (kDraws / 16.0);
    EXPECT_LT(chi, 45);  // 15 degrees of freedom: above this one time in 13,000
}

TEST(Sampler, ChoosesAmongWhatIsAllowedOnly) {
    std::vector<float> logits(70, 0.0f);
    logits[3] = 9;
    logits[65] = 5;
    const std::vector<uint32_t> allowed = {1u << 4, 0, 1u << 1};  // 4 and 65
    EXPECT_EQ(Sampler({.temperature = 0}).sample(logits, 0, allowed)->token, 65);
    const auto choices = *Sampler({.temperature = 1}).distribution(logits, allowed);
    ASSERT_EQ(choices.size(), 2u);
    EXPECT_EQ(choices[0].token, 65);
    EXPECT_EQ(choices[1].token, 4);
    EXPECT_NEAR(choices[0].probability + choices[1].probability, 1, 1e-6);
    // What lies beyond the mask is not allowed, and a bias does not change that.
    const std::vector<uint32_t> first_word = {1u << 4};
    EXPECT_EQ(Sampler({.temperature = 0, .logit_bias = {{65, 100.0f}}}).sample(logits, 0, first_word)->token, 4);
    const std::vector<uint32_t> nothing = {0, 0, 0};
    EXPECT_EQ(Sampler({}).sample(logits, 0, nothing).error().code, Code::invalid_argument);
}

TEST(Params, RefusesNumbersThatMeanNothing) {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    EXPECT_TRUE(check({}, 10));
    EXPECT_FALSE(check({.temperature = -1}, 10));
    EXPECT_FALSE(check({.temperature = nan}, 10));
    EXPECT_FALSE(check({.top_k = -5}, 10));
    EXPECT_FALSE(check({.top_p = 1.5f}, 10));
    EXPECT_FALSE(check({.repeat_penalty = 0}, 10));
    EXPECT_FALSE(check({.logit_bias = {{10, 1}}}, 10));
    EXPECT_FALSE(check({.logit_bias = {{1, nan}}}, 10));
}

}  // namespace
}  // namespace lapidary::sample
