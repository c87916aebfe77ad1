// How a prompt is cut for the GPU, on a device that only takes notes.
#include "infer/gpu_runner.h"

#include <gtest/gtest.h>

#include "gpu/plan_device.h"
#include "testing/fixture_model.h"

namespace lapidary::infer {
namespace {

// What never has to wait.
template <class T>
T done(Task<T> task) {
    auto out = std::move(task).run_now();
    EXPECT_TRUE(out) << "a task waited where nothing should";
    return *std::move(out);
}

struct Cut {
    size_t runs = 0;       // what was given to the GPU one by one
    uint64_t largest = 0;  // workgroups of the largest of them
};

uint64_t workgroups(const std::vector<gpu::Command>& program) {
    uint64_t sum = 0;
    for (const gpu::Command& command : program) sum += uint64_t{command.x} * command.y * command.z;
    return sum;
}

// One that reads a prompt of so many tokens and does with it what `work` says.
template <class Work>
Cut cut_of(uint32_t block, uint32_t tokens, Work work) {
    auto model = testing::load_model("tests/data/fixtures/tiny-e2b-q4_0.gguf");
    EXPECT_TRUE(model) << model.error().message;
    gpu::PlanDevice device({});
    auto weights = done(GpuModel::plan(device, model->file, model->config, model->table, {}, TablePlace::gpu));
    EXPECT_TRUE(weights) << weights.error().message;
    auto runner = done(GpuRunner::create(*weights, {.context = 1024, .block = block}, {}));
    EXPECT_TRUE(runner) << runner.error().message;
    const std::vector<int32_t> prompt(tokens, 5);
    EXPECT_TRUE(work(**runner, prompt));
    Cut cut{.runs = device.runs().size()};
    for (const gpu::Id id : device.runs()) cut.largest = std::max(cut.largest, workgroups(device.program(id)));
    return cut;
}

bool reads(GpuRunner& runner, const std::vector<int32_t>& prompt) {
    return bool(done(runner.run(prompt, LogitsWanted::none, {})));
}

bool embeds(GpuRunner& runner, const std::vector<int32_t>& prompt) {
    return bool(done(runner.embed({&prompt, 1}, [](size_t, const std::vector<float>&) {}, {})));
}

TEST(GpuRunner, ReadsAPromptInBlocksNoLargerThanItWasTold) {
    const Cut whole = cut_of(kMaxBlock, 500, reads);
    EXPECT_EQ(whole.runs, 1u);
    uint64_t before = whole.largest;
    for (const uint32_t block : {128u, 16u}) {
        const Cut cut = cut_of(block, 500, reads);
        EXPECT_EQ(cut.runs, (500 + block - 1) / block);
        EXPECT_LT(cut.largest, before) << "and each is less work";
        before = cut.largest;
    }
}

TEST(GpuRunner, MakesVectorsInSuchBlocksToo) {
    EXPECT_EQ(cut_of(kMaxBlock, 500, embeds).runs, 1u);
    EXPECT_EQ(cut_of(16, 500, embeds).runs, 32u);
}

// 160 floats are 640 bytes, so that every second row begins where a binding can.
TEST(GpuRunner, BindsWhereItMayWhateverTheWidth) {
    auto model = testing::load_model("tests/data/fixtures/tiny-gemma3-q4km.gguf");
    ASSERT_TRUE(model) << model.error().message;
    gpu::PlanDevice device({});
    auto weights = done(GpuModel::plan(device, model->file, model->config, model->table, {}, TablePlace::gpu));
    ASSERT_TRUE(weights) << weights.error().message;
    auto runner = done(GpuRunner::create(*weights, {.context = 1024}, {}));
    ASSERT_TRUE(runner) << runner.error().message;
    for (const size_t tokens : {1, 2, 16, 17, 100, 300}) {
        const std::vector<int32_t> prompt(tokens, 5);
        ASSERT_TRUE(done((*runner)->run(prompt, LogitsWanted::last, {})));
    }
    for (const gpu::Id id : device.runs()) {
        for (const gpu::Command& command : device.program(id)) {
            for (const gpu::Binding& binding : device.group(command.bind_group).bindings) {
                EXPECT_EQ(binding.offset % kernels::kBindingAlignment, 0u)
                    << device.pipeline(command.pipeline).label << ", " << device.buffer(binding.buffer).label;
            }
        }
    }
}

}  // namespace
}  // namespace lapidary::infer
