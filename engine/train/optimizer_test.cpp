#include "train/optimizer.h"

#include <gtest/gtest.h>

#include <cmath>

#include "train/test_numbers.h"

namespace lapidary::train {
namespace {

// AdamW as the paper has it (decoupled decay, both moments corrected, epsilon outside the root), in double.
struct PaperAdamW {
    std::vector<double> parameters, first, second;
    int step = 0;

    void move(const AdamW& a, std::span<const float> gradients) {
        double squares = 0;
        for (const float g : gradients) squares += double(g) * double(g);
        const double factor = a.clip_norm > 0 ? std::min(1.0, double(a.clip_norm) / std::sqrt(squares)) : 1;
        ++step;
        for (size_t i = 0; i < parameters.size(); ++i) {
            const double g = double(gradients[i]) * factor;
            first[i] = double(a.beta1) * first[i] + (1 - double(a.beta1)) * g;
            second[i] = double(a.beta2) * second[i] + (1 - double(a.beta2)) * g * g;
            const double m = first[i] / (1 - std::pow(double(a.beta1), step));
            const double v = second[i] / (1 - std::pow(double(a.beta2), step));
            parameters[i] -= double(a.learning_rate) * double(a.weight_decay) * parameters[i];
            parameters[i] -= double(a.learning_rate) * m / (std::sqrt(v) + double(a.epsilon));
        }
    }
};

// Weight decay is too small to be seen in the losses of a few steps: here everything is large.
TEST(Optimizer, MovesAsThePaperSays) {
    constexpr size_t kCount = 50;
    for (const AdamW& adamw : {AdamW{.learning_rate = 0.1f, .weight_decay = 0.3f},
                               AdamW{.learning_rate = 0.1f, .weight_decay = 0, .clip_norm = 0},
                               AdamW{.learning_rate = 0.05f, .beta1 = 0.5f, .beta2 = 0.7f, .epsilon = 0.1f},
                               AdamW{.learning_rate = 0.1f, .clip_norm = 100}}) {
        std::vector<float> parameters = numbers(kCount, 1);
        Moments moments{.first = std::vector<float>(kCount), .second = std::vector<float>(kCount)};
        PaperAdamW paper{.parameters = {parameters.begin(), parameters.end()},
                         .first = std::vector<double>(kCount),
                         .second = std::vector<double>(kCount)};
        for (uint64_t step = 0; step < 5; ++step) {
            const std::vector<float> gradients = numbers(kCount, 10 + step);
            EXPECT_GT(adamw_step(adamw, gradients, moments, parameters), 1);
            paper.move(adamw, gradients);
            for (size_t i = 0; i < kCount; ++i) {
                ASSERT_NEAR(double(parameters[i]), paper.parameters[i], 3e-6) << "step " << step << ", number " << i;
            }
        }
        EXPECT_EQ(moments.step, 5u);
    }
}

TEST(Optimizer, LeavesEverythingAsItIsWhenAGradientIsNoNumber) {
    std::vector<float> parameters = {1, 2};
    Moments moments{.first = {0.5f, 0.5f}, .second = {0.25f, 0.25f}};
    EXPECT_TRUE(std::isnan(adamw_step({}, std::vector<float>{1, NAN}, moments, parameters)));
    EXPECT_EQ(parameters, (std::vector<float>{1, 2}));
    EXPECT_EQ(moments.step, 0u);
    EXPECT_EQ(moments.first, (std::vector<float>{0.5f, 0.5f}));
}

}  // namespace
}  // namespace lapidary::train
