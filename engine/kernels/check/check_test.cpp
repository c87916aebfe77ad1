// The cases themselves, on a device that computes nothing. What real devices make of them is tested through
// `lapidary selftest`.
#include "kernels/check/check.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "kernels/check/suites.h"
#include "kernels/link.h"
#include "testing/lazy_device.h"

namespace lapidary::kernels::check {
namespace {

using testing::LazyDevice;

std::vector<Outcome> outcomes_of(gpu::Device& device, Options options = {}) {
    auto result = check::run(device, suites(), std::move(options), nullptr, {}).run_now();
    EXPECT_TRUE(result && *result);
    return result && *result ? **result : std::vector<Outcome>{};
}

TEST(Check, IsNotPassedByKernelsThatDoNothing) {
    LazyDevice device(true);
    const auto outcomes = outcomes_of(device);
    EXPECT_GT(outcomes.size(), 100u);
    for (const Outcome& outcome : outcomes) EXPECT_FALSE(outcome.ok) << outcome.kernel << " " << outcome.shape;
    EXPECT_EQ(device.live(), 0u) << "everything was given back";
}

TEST(Check, KnowsEveryWeightFormatInEveryKernelThatReadsWeights) {
    LazyDevice device(true);  // one of them computes with whole numbers only
    for (const bool quick : {true, false}) {
        std::map<std::string, std::set<std::string>> formats;
        for (const Outcome& outcome : outcomes_of(device, {.kernels = {}, .formats = {}, .quick = quick})) {
            formats[outcome.kernel].insert(outcome.format.substr(0, outcome.format.find(' ')));
        }
        for (const Suite& suite : suites()) {
            size_t wanted = has_slot(suite.kernel, "weights") ? size_t(Format::f32) + 1 : 1;
            if (suite.kernel.title() == "gemv_persistent") wanted -= 3;  // those in floating point
            EXPECT_EQ(formats[std::string(suite.kernel.title())].size(), wanted) << suite.kernel.title();
        }
    }
}

TEST(Check, TriesSubgroupsAndLimbsWhereThereAreAny) {
    LazyDevice with(true);
    LazyDevice without(false);
    const auto variants = [](gpu::Device& device) {
        std::map<std::string, std::set<std::string>> out;
        const Options options{.kernels = {"gemv", "qk_norm_rope_store", "moe_route"}, .formats = {}, .quick = true};
        for (const Outcome& outcome : outcomes_of(device, options)) {
            out[outcome.kernel + " " + outcome.format].insert(outcome.variant);
        }
        return out;
    };
    using Names = std::set<std::string>;
    auto all = variants(with);
    EXPECT_EQ(all["gemv q4_k"], (Names{"shared floats", "subgroup floats", "shared limbs", "subgroup limbs"}));
    EXPECT_EQ(all["gemv f16"], (Names{"shared floats", "subgroup floats"})) << "no whole numbers";
    EXPECT_EQ(all["qk_norm_rope_store "], (Names{"shared", "subgroup"}));
    EXPECT_EQ(all["moe_route "], (Names{""}));
    all = variants(without);
    EXPECT_EQ(all["gemv q4_k"], (Names{"shared floats"}));
    EXPECT_EQ(all["qk_norm_rope_store "], (Names{"shared"}));
}

TEST(Check, TakesOnlyWhatWasAskedFor) {
    LazyDevice device(false);
    for (const Outcome& outcome : outcomes_of(device, {.kernels = {"gather_rows"}, .formats = {Format::q6_k}})) {
        EXPECT_EQ(outcome.kernel + " " + outcome.format, "gather_rows q6_k");
    }
    const auto refused =
        check::run(device, suites(), {.kernels = {"gather_cows"}, .formats = {}}, nullptr, {}).run_now();
    ASSERT_TRUE(refused && !*refused);
    EXPECT_TRUE(refused->error().message.starts_with("there is no kernel 'gather_cows'; there are gemm,"));
}

TEST(Check, GoesOnWhenAKernelDoesNotCompile) {
    LazyDevice device(false);
    device.broken = true;
    const auto outcomes = outcomes_of(device, {.kernels = {"moe_route", "moe_combine"}, .formats = {}, .quick = true});
    EXPECT_EQ(outcomes.front().problem, "kernel 'moe_route': line 1: broken");
    EXPECT_EQ(outcomes.back().kernel, "moe_combine");
    EXPECT_EQ(device.live(), 0u);
}

}  // namespace
}  // namespace lapidary::kernels::check
