#include "infer/gpu_encoder.h"

#include <gtest/gtest.h>

#include "gpu/plan_device.h"
#include "testing/fixture_model.h"

namespace lapidary::infer {
namespace {

template <class T>
T ended(Task<T> task) {
    auto result = std::move(task).run_now();
    EXPECT_TRUE(result) << "it waits for something that never comes";
    return *std::move(result);
}

// How often the GPU is asked for something while texts of these lengths become vectors.
size_t runs_of(std::initializer_list<size_t> lengths, GpuOptions options = {.context = 1024}) {
    auto model = testing::load_model("tests/data/fixtures/tiny-embedding-q8_0.gguf");
    EXPECT_TRUE(model) << model.error().message;
    gpu::PlanDevice device({});
    auto weights = ended(GpuModel::plan(device, model->file, model->config, model->table, {}, TablePlace::gpu));
    EXPECT_TRUE(weights) << weights.error().message;
    auto encoder = ended(GpuEncoder::create(*weights, options, {}));
    EXPECT_TRUE(encoder) << encoder.error().message;
    std::vector<std::vector<int32_t>> texts;
    for (const size_t length : lengths) texts.emplace_back(length, 5);
    size_t taken = 0;
    const auto take = [&](size_t i, const std::vector<float>& vector) {
        EXPECT_EQ(i, taken++);
        EXPECT_EQ(vector.size(), 96u);
    };
    const Status status = ended((*encoder)->embed(texts, take, {}));
    EXPECT_TRUE(status) << status.error().message;
    EXPECT_EQ(taken, texts.size());
    return device.runs().size();
}

// The layers, and what becomes of them.
constexpr size_t kOnce = 2;

TEST(GpuEncoder, TextsOfAllLengthsGoThroughTheLayersTogether) {
    EXPECT_EQ(runs_of({3, 5, 33, 33, 69, 199}), kOnce);
    EXPECT_EQ(runs_of({512}), kOnce);
    EXPECT_EQ(runs_of({500, 12}), kOnce);
    EXPECT_EQ(runs_of({500, 13}), 2 * kOnce);
}

TEST(GpuEncoder, ATextIsNeverDivided) {
    EXPECT_EQ(runs_of({1000}), kOnce);
    EXPECT_EQ(runs_of({100, 100, 100}, {.context = 1024, .block = 16}), 3 * kOnce) << "and others wait";
}

TEST(GpuEncoder, RefusesAdaptersAndWritesNothing) {
    auto model = testing::load_model("tests/data/fixtures/tiny-embedding-q8_0.gguf");
    gpu::PlanDevice device({});
    auto weights = ended(GpuModel::plan(device, model->file, model->config, model->table, {}, TablePlace::gpu));
    auto encoder = ended(GpuEncoder::create(*weights, {.context = 64}, {}));
    const std::vector<int32_t> tokens = {2, 5, 1};
    EXPECT_EQ(ended((*encoder)->run(tokens, LogitsWanted::last, {})).error().code, Code::unsupported);
    const std::vector<lora::Active> adapters(1);
    EXPECT_EQ(ended((*encoder)->set_adapters(adapters)).error().code, Code::unsupported);
    const auto refusal = [&](std::vector<int32_t> text) {
        const std::vector<std::vector<int32_t>> texts = {std::move(text)};
        return ended((*encoder)->embed(texts, [](size_t, auto) {}, {})).error().code;
    };
    EXPECT_EQ(refusal({}), Code::invalid_argument);
    EXPECT_EQ(refusal({600}), Code::invalid_argument);
    EXPECT_EQ(refusal(std::vector<int32_t>(65, 5)), Code::limit);
}

}  // namespace
}  // namespace lapidary::infer
