// The cases themselves, on a device that computes nothing. What real devices make of them is tested through
// `lapidary selftest`.
#include "kernels/check/check.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "kernels/check/suites.h"

namespace lapidary::kernels::check {
namespace {

// Holds buffers and accepts everything, but no kernel ever runs.
class LazyDevice final : public gpu::Device {
  public:
    explicit LazyDevice(bool modern) {
        info_.subgroups = modern;
        info_.subgroup_min = 32;
        info_.packed_dot = modern;
    }
    Task<Status> open(std::vector<std::string>, Cancel) override { co_return Status{}; }
    [[nodiscard]] const gpu::Info& info() const override { return info_; }
    Result<gpu::Id> buffer(uint64_t bytes, gpu::Usage, std::string_view) override {
        buffers_[++last_].resize(size_t(bytes));
        live_.insert(last_);
        return last_;
    }
    void release(gpu::Id id) override {
        buffers_.erase(id);
        live_.erase(id);
    }
    void write(gpu::Id buffer, uint64_t offset, std::span<const uint8_t> bytes) override {
        std::ranges::copy(bytes, buffers_[buffer].begin() + ptrdiff_t(offset));
    }
    Task<Result<std::vector<uint8_t>>> read(gpu::Id buffer, uint64_t, uint64_t, Cancel) override {
        co_return buffers_[buffer];
    }
    Task<Result<gpu::Id>> pipeline(std::string wgsl, std::string label, std::vector<gpu::Access> bindings,
                                   std::vector<gpu::Constant>, Cancel) override {
        if (label == "route" && broken) co_return fail(Code::internal, "kernel 'route': line 1: broken");
        EXPECT_NE(wgsl.find("fn main"), std::string::npos);
        bindings_[++last_] = bindings.size();
        live_.insert(last_);
        co_return last_;
    }
    Result<gpu::Id> bind_group(gpu::Id pipeline, std::span<const gpu::Binding> bindings) override {
        EXPECT_EQ(bindings.size(), bindings_[pipeline]);
        for (const gpu::Binding& binding : bindings) EXPECT_EQ(binding.size % 4, 0u);
        live_.insert(++last_);
        return last_;
    }
    Result<gpu::Id> program(std::span<const gpu::Command>) override {
        live_.insert(++last_);
        return last_;
    }
    void run(gpu::Id) override {}
    Task<Result<double>> time(gpu::Id, uint32_t, Cancel) override { co_return 0.0; }
    Task<Status> sync(Cancel) override { co_return Status{}; }

    [[nodiscard]] size_t live() const { return live_.size(); }
    bool broken = false;

  private:
    gpu::Info info_;
    gpu::Id last_ = 0;
    std::map<gpu::Id, std::vector<uint8_t>> buffers_;
    std::map<gpu::Id, size_t> bindings_;
    std::set<gpu::Id> live_;
};

std::vector<Outcome> outcomes_of(gpu::Device& device, Options options = {}) {
    auto result = check::run(device, std::move(options), nullptr, {}).run_now();
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
    LazyDevice device(false);
    for (const bool quick : {true, false}) {
        std::map<std::string, std::set<std::string>> formats;
        for (const Outcome& outcome : outcomes_of(device, {.kernels = {}, .formats = {}, .quick = quick})) {
            formats[outcome.kernel].insert(outcome.format.substr(0, outcome.format.find(' ')));
        }
        for (const Suite& suite : suites()) {
            const size_t wanted = suite.kernel.reads_weights() ? size_t(Format::f32) + 1 : 1;
            EXPECT_EQ(formats[std::string(suite.kernel.name)].size(), wanted) << suite.kernel.name;
        }
    }
}

TEST(Check, TriesSubgroupsAndPlanesWhereThereAreAny) {
    LazyDevice with(true);
    LazyDevice without(false);
    const auto variants = [](gpu::Device& device) {
        std::map<std::string, std::set<std::string>> out;
        const Options options{.kernels = {"matvec", "heads", "route"}, .formats = {}, .quick = true};
        for (const Outcome& outcome : outcomes_of(device, options)) {
            out[outcome.kernel + " " + outcome.format].insert(outcome.variant);
        }
        return out;
    };
    using Names = std::set<std::string>;
    auto all = variants(with);
    EXPECT_EQ(all["matvec q4_k"], (Names{"shared floats", "subgroup floats", "shared planes", "subgroup planes"}));
    EXPECT_EQ(all["matvec f16"], (Names{"shared floats", "subgroup floats"})) << "no whole numbers";
    EXPECT_EQ(all["heads "], (Names{"shared", "subgroup"}));
    EXPECT_EQ(all["route "], (Names{""}));
    all = variants(without);
    EXPECT_EQ(all["matvec q4_k"], (Names{"shared floats"}));
    EXPECT_EQ(all["heads "], (Names{"shared"}));
}

TEST(Check, TakesOnlyWhatWasAskedFor) {
    LazyDevice device(false);
    for (const Outcome& outcome : outcomes_of(device, {.kernels = {"gather"}, .formats = {Format::q6_k}})) {
        EXPECT_EQ(outcome.kernel + " " + outcome.format, "gather q6_k");
    }
    const auto refused = check::run(device, {.kernels = {"garter"}, .formats = {}}, nullptr, {}).run_now();
    ASSERT_TRUE(refused && !*refused);
    EXPECT_TRUE(refused->error().message.starts_with("there is no kernel 'garter'; there are matmul,"));
}

TEST(Check, GoesOnWhenAKernelDoesNotCompile) {
    LazyDevice device(false);
    device.broken = true;
    const auto outcomes = outcomes_of(device, {.kernels = {"route", "combine"}, .formats = {}, .quick = true});
    EXPECT_EQ(outcomes.front().problem, "kernel 'route': line 1: broken");
    EXPECT_EQ(outcomes.back().kernel, "combine");
    EXPECT_EQ(device.live(), 0u);
}

}  // namespace
}  // namespace lapidary::kernels::check
