#include "infer/table_rows.h"

#include <gtest/gtest.h>

#include <cstring>

#include "gguf/writer.h"
#include "infer/gpu_model.h"
#include "kernels/weight_format.h"
#include "testing/fixture_model.h"
#include "testing/lazy_device.h"

namespace lapidary::infer {
namespace {

testing::FixtureModel tiny(const char* name) {
    auto model = testing::load_model(std::string("tests/data/fixtures/") + name + ".gguf");
    EXPECT_TRUE(model) << model.error().message;
    return std::move(*model);
}

TableRows rows_of(const gguf::File& file, const model::Weight& weight) {
    const gguf::FileTensor& tensor = *file.find(weight.name);
    return {file.source_of(tensor), tensor.info.range.offset, weight.type, weight.rows, weight.cols, &kernels::repack};
}

TEST(TableRows, AreThoseThatTheGpuWouldHave) {
    for (const char* name : {"tiny-e2b-q4km", "tiny-e2b-q4_0"}) {
        const testing::FixtureModel model = tiny(name);
        const model::Weight& weight = model.table->per_layer_token_embd;
        const auto whole = model.file.read(*model.file.find(weight.name), 0, weight.bytes(), {}).run_now();
        ASSERT_TRUE(whole && *whole);
        const auto packed = kernels::repack(weight.type, **whole, weight.rows, weight.cols);
        const size_t stride = packed.size() / weight.rows;
        TableRows rows = rows_of(model.file, weight);
        const auto last = int32_t(weight.rows - 1);
        for (const std::vector<int32_t>& ids :
             {std::vector<int32_t>{5}, std::vector<int32_t>{last, 5, 0, 5, 7, last}, std::vector<int32_t>{}}) {
            const auto result = rows.rows(ids, {}).run_now();
            ASSERT_TRUE(result && *result) << name;
            ASSERT_EQ((*result)->size(), ids.size() * stride);
            for (size_t i = 0; i < ids.size(); ++i) {
                EXPECT_TRUE(std::equal(packed.begin() + ptrdiff_t(size_t(ids[i]) * stride),
                                       packed.begin() + ptrdiff_t((size_t(ids[i]) + 1) * stride),
                                       (*result)->begin() + ptrdiff_t(i * stride)))
                    << name << ", row " << ids[i];
            }
        }
    }
}

TEST(TableRows, BeyondTheTableAreAnError) {
    const testing::FixtureModel model = tiny("tiny-e2b-q4_0");
    const model::Weight& weight = model.table->per_layer_token_embd;
    TableRows rows = rows_of(model.file, weight);
    for (const int32_t id : {int32_t(weight.rows), -1}) {
        const std::vector<int32_t> ids = {1, id};
        const auto result = rows.rows(ids, {}).run_now();
        EXPECT_TRUE(result && !*result) << id;
    }
}

TEST(TableRows, AreNotMistakenForOthersThatWereKeptInTheirPlace) {
    // More rows than are kept, each with its own number in it.
    constexpr int32_t kRows = 3000;
    constexpr int32_t kCols = 32;
    gguf::Writer writer;
    writer.add_tensor("table", TensorType::f32, {kCols, kRows});
    const auto layout = writer.layout();
    ASSERT_TRUE(layout);
    Bytes bytes = layout->header;
    bytes.resize(size_t(layout->file_size));
    for (int32_t i = 0; i < kRows * kCols; ++i) {
        const auto value = float(i / kCols);
        std::memcpy(bytes.data() + layout->tensors.front().offset + size_t(i) * sizeof(value), &value, sizeof(value));
    }
    auto file = gguf::File::open({std::make_shared<MemorySource>(std::move(bytes))}, {}).run_now();
    ASSERT_TRUE(file && *file);
    const model::Weight weight{.name = "table", .type = TensorType::f32, .cols = kCols, .rows = kRows};
    TableRows rows = rows_of(**file, weight);
    for (const int32_t first : {0, 1024, 2048, 5, 1029}) {
        const std::vector<int32_t> ids = {first, first + 7, 2999};
        const auto result = rows.rows(ids, {}).run_now();
        ASSERT_TRUE(result && *result);
        const size_t stride = (*result)->size() / ids.size();
        for (size_t i = 0; i < ids.size(); ++i) {
            float value = -1;
            std::memcpy(&value, (*result)->data() + i * stride, sizeof(value));
            EXPECT_EQ(value, float(ids[i]));
        }
    }
}

Result<std::shared_ptr<GpuModel>> loaded(testing::LazyDevice& device, const testing::FixtureModel& model,
                                         TablePlace place) {
    auto result =
        GpuModel::load(device, model.file, model.config, model.table, {.variant = {}, .wrong = {}}, place, nullptr, {})
            .run_now();
    return std::move(*result);
}

TEST(GpuModel, LeavesTheTableInTheFileWhenAsked) {
    const testing::FixtureModel model = tiny("tiny-e2b-q4km");
    testing::LazyDevice device(false);
    const auto on_gpu = loaded(device, model, TablePlace::automatic);
    ASSERT_TRUE(on_gpu);
    EXPECT_EQ((*on_gpu)->per_layer_rows, nullptr);
    const auto in_file = loaded(device, model, TablePlace::source);
    ASSERT_TRUE(in_file);
    EXPECT_NE((*in_file)->per_layer_rows, nullptr);
    const model::Weight& weight = model.table->per_layer_token_embd;
    EXPECT_EQ((*on_gpu)->bytes() - (*in_file)->bytes(),
              kernels::gpu_bytes(kernels::format_of(weight.type), weight.rows, weight.cols));
}

TEST(GpuModel, LeavesTheTableInTheFileWhenTheGpuHasNoRoomForIt) {
    const testing::FixtureModel model = tiny("tiny-e2b-q4km");
    testing::LazyDevice device(false);
    const model::Weight& weight = model.table->per_layer_token_embd;
    const uint64_t table = kernels::gpu_bytes(kernels::format_of(weight.type), weight.rows, weight.cols);
    uint64_t without = 0;
    {
        const auto in_file = loaded(device, model, TablePlace::source);
        ASSERT_TRUE(in_file);
        without = (*in_file)->bytes();
    }
    ASSERT_EQ(device.bytes(), 0u);
    device.room = without + table - 1;
    {
        const auto fits = loaded(device, model, TablePlace::automatic);
        ASSERT_TRUE(fits) << fits.error().message;
        EXPECT_NE((*fits)->per_layer_rows, nullptr);
        EXPECT_EQ((*fits)->bytes(), without);
        EXPECT_EQ(device.bytes(), without) << "what was begun was given back";
    }
    EXPECT_FALSE(loaded(device, model, TablePlace::gpu)) << "unless it has to be there";
    device.room = without - 1;
    EXPECT_FALSE(loaded(device, model, TablePlace::automatic));
    EXPECT_EQ(device.bytes(), 0u);
}

}  // namespace
}  // namespace lapidary::infer
