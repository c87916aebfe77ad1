#include "gguf/file.h"

#include <gtest/gtest.h>

#include "gguf/writer.h"
#include "testing/files.h"
#include "testing/gguf_samples.h"

namespace lapidary::gguf {
namespace {

using Sources = std::vector<std::shared_ptr<ByteSource>>;

// Every byte of the data section says where it is, whatever the size of the file.
class PatternSource final : public ByteSource {
  public:
    PatternSource(Bytes header, uint64_t size) : header_(std::move(header)), size_(size) {}
    [[nodiscard]] uint64_t size() const override { return size_; }
    static uint8_t at(uint64_t position) { return uint8_t(position ^ position >> 8 ^ position >> 32); }
    Task<Result<Bytes>> read(ByteRange range, Cancel cancel) override {
        CO_TRY(cancel.check());
        CO_TRY(check_range(range, size_));
        Bytes bytes;
        for (uint64_t i = range.offset; i < range.offset + range.size; ++i) {
            bytes.push_back(i < header_.size() ? header_[size_t(i)] : at(i));
        }
        if (give_too_little && !bytes.empty()) bytes.pop_back();
        co_return bytes;
    }
    bool give_too_little = false;

  private:
    Bytes header_;
    uint64_t size_;
};

std::shared_ptr<PatternSource> source_of(const Writer& writer) {
    auto layout = writer.layout();
    EXPECT_TRUE(layout) << layout.error().message;
    if (!layout) return nullptr;
    return std::make_shared<PatternSource>(std::move(layout->header), layout->file_size);
}

Result<File> open(const Sources& sources) {
    return *File::open(sources, {}).run_now();
}

void expect_refused(const Sources& sources, Code code, std::string_view culprit) {
    const auto file = open(sources);
    ASSERT_FALSE(file) << culprit;
    EXPECT_EQ(code_name(file.error().code), code_name(code)) << file.error().message;
    EXPECT_NE(file.error().message.find(culprit), std::string::npos) << file.error().message;
}

// Shard `position` of a model of three, with tensors of its own; the first has all the metadata and no tensor.
Writer shard(uint16_t position, uint16_t count = 3, int32_t tensors = 4) {
    Writer writer;
    writer.set_u16("split.no", position);
    writer.set_u16("split.count", count);
    writer.set_i32("split.tensors.count", tensors);
    if (position == 0) {
        writer.set_string("general.architecture", "gemma4");
    } else {
        writer.add_tensor(format("blk.{}.a", position), TensorType::f32, {8});
        writer.add_tensor(format("blk.{}.b", position), TensorType::f32, {16});
    }
    return writer;
}

Sources three_shards() {
    return {source_of(shard(0)), source_of(shard(1)), source_of(shard(2))};
}

TEST(GgufFile, OpensAModelInOneFile) {
    const auto bytes = testing::read_file("tests/data/fixtures/tiny-moe-q4km.gguf");
    ASSERT_TRUE(bytes);
    const auto file = open({std::make_shared<MemorySource>(*bytes)});
    ASSERT_TRUE(file) << file.error().message;
    EXPECT_EQ(file->metadata().string("general.architecture"), "gemma4");
    EXPECT_EQ(file->tensors().size(), file->metadata().tensors.size());
    EXPECT_EQ(file->n_shards(), 1u);
    const FileTensor* tensor = file->find("output_norm.weight");
    ASSERT_NE(tensor, nullptr);
    const auto all = *file->read(*tensor, 0, tensor->info.range.size, {}).run_now();
    ASSERT_TRUE(all) << all.error().message;
    const auto begin = bytes->begin() + ptrdiff_t(tensor->info.range.offset);
    EXPECT_EQ(*all, Bytes(begin, begin + ptrdiff_t(tensor->info.range.size)));
    EXPECT_EQ(file->find("no such tensor"), nullptr);
}

TEST(GgufFile, OpensAFileWithoutTensors) {
    Writer writer;
    writer.set_string("general.architecture", "gemma4");
    writer.set_u16("split.count", 1);
    const auto file = open({source_of(writer)});
    ASSERT_TRUE(file) << file.error().message;
    EXPECT_TRUE(file->tensors().empty());
}

TEST(GgufFile, OpensAModelInThreeFiles) {
    const auto file = open(three_shards());
    ASSERT_TRUE(file) << file.error().message;
    EXPECT_EQ(file->n_shards(), 3u);
    EXPECT_EQ(file->metadata().string("general.architecture"), "gemma4");
    ASSERT_EQ(file->tensors().size(), 4u);
    EXPECT_EQ(file->tensors()[2].info.name, "blk.2.a");
    const FileTensor* tensor = file->find("blk.2.b");
    ASSERT_NE(tensor, nullptr);
    EXPECT_EQ(tensor->shard, 2u);
    const auto bytes = *file->read(*tensor, 4, 3, {}).run_now();
    ASSERT_TRUE(bytes) << bytes.error().message;
    const uint64_t position = tensor->info.range.offset + 4;
    EXPECT_EQ(*bytes,
              (Bytes{PatternSource::at(position), PatternSource::at(position + 1), PatternSource::at(position + 2)}));
}

TEST(GgufFile, StaysWholeWhenMovedAndCopied) {
    auto file = open(three_shards());
    ASSERT_TRUE(file);
    File moved = std::move(*file);
    const File copy = moved;
    moved = *open(three_shards());
    EXPECT_EQ(copy.find("blk.1.a")->info.name, "blk.1.a");
    // A task started late, of a file that is gone.
    auto task = [] {
        const auto short_lived = open(three_shards());
        return short_lived->read(*short_lived->find("blk.1.a"), 0, 32, {});
    }();
    const auto bytes = *std::move(task).run_now();
    ASSERT_TRUE(bytes);
    EXPECT_EQ(bytes->size(), 32u);
}

TEST(GgufFile, ReadsBeyondFourGibibytes) {
    Writer writer;
    writer.add_tensor("first", TensorType::f32, {1 << 20, 1 << 11});  // 8 GiB
    writer.add_tensor("second", TensorType::f32, {8});
    const auto file = open({source_of(writer)});
    ASSERT_TRUE(file) << file.error().message;
    const FileTensor* tensor = file->find("second");
    ASSERT_NE(tensor, nullptr);
    const auto bytes = *file->read(*tensor, 31, 1, {}).run_now();
    ASSERT_TRUE(bytes) << bytes.error().message;
    EXPECT_EQ(bytes->at(0), PatternSource::at(tensor->info.range.offset + 31));
    const auto deep = *file->read(*file->find("first"), (8ull << 30) - 1, 1, {}).run_now();
    ASSERT_TRUE(deep) << deep.error().message;
    EXPECT_EQ(deep->at(0), PatternSource::at(file->find("first")->info.range.offset + (8ull << 30) - 1));
    const auto too_much = *file->read(*file->find("first"), 0, kMaxReadBytes + 1, {}).run_now();
    ASSERT_FALSE(too_much);
    EXPECT_EQ(too_much.error().code, Code::limit);
}

TEST(GgufFile, ReadsNothingOutsideATensor) {
    const auto file = open(three_shards());
    ASSERT_TRUE(file);
    const FileTensor& tensor = *file->find("blk.1.a");  // 32 bytes
    EXPECT_TRUE(*file->read(tensor, 32, 0, {}).run_now());
    for (const auto [offset, size] :
         {std::pair<uint64_t, uint64_t>{0, 33}, {32, 1}, {33, 0}, {1, ~uint64_t(0)}, {~uint64_t(0), 2}}) {
        const auto bytes = *file->read(tensor, offset, size, {}).run_now();
        ASSERT_FALSE(bytes) << offset << " " << size;
        EXPECT_EQ(bytes.error().code, Code::invalid_argument);
        EXPECT_NE(bytes.error().message.find("blk.1.a"), std::string::npos) << bytes.error().message;
    }
    FileTensor foreign = tensor;
    foreign.shard = 3;
    const auto bytes = *file->read(foreign, 0, 1, {}).run_now();
    ASSERT_FALSE(bytes);
    EXPECT_EQ(bytes.error().code, Code::invalid_argument);
}

TEST(GgufFile, RefusesAShortRead) {
    const auto source = source_of(testing::small_model());
    const auto file = open({source});
    ASSERT_TRUE(file);
    source->give_too_little = true;
    const auto bytes = *file->read(file->tensors()[0], 0, 8, {}).run_now();
    ASSERT_FALSE(bytes);
    EXPECT_EQ(bytes.error().code, Code::io);
}

TEST(GgufFile, StopsWhenCancelled) {
    Cancel cancel;
    const auto file = open(three_shards());
    ASSERT_TRUE(file);
    cancel.request();
    EXPECT_EQ((*file->read(file->tensors()[0], 0, 8, cancel).run_now()).error().code, Code::cancelled);
    EXPECT_EQ((*File::open(three_shards(), cancel).run_now()).error().code, Code::cancelled);
}

TEST(GgufFile, RefusesNoFileAtAll) {
    expect_refused({}, Code::invalid_argument, "no file was given");
    expect_refused({nullptr}, Code::invalid_argument, "no file was given");
}

TEST(GgufFile, AsksForTheFirstOfSeveralFiles) {
    expect_refused({source_of(shard(1))}, Code::invalid_argument,
                   "this is file 2 of 3 of a split model: open it by the first, …-00001-of-00003.gguf");
}

TEST(GgufFile, AsksForAllFilesOfAModel) {
    expect_refused({source_of(shard(0))}, Code::invalid_argument,
                   "this is file 1 of 3, and no other was given: open all 3, …-00001-of-00003.gguf to "
                   "…-00003-of-00003.gguf");
    expect_refused({source_of(shard(0)), source_of(shard(1))}, Code::invalid_argument, "2 were given: open all 3");
}

TEST(GgufFile, RefusesMoreFilesThanTheModelHas) {
    expect_refused({source_of(testing::small_model()), source_of(shard(1))}, Code::invalid_argument,
                   "a single file, but 2 files were given");
}

TEST(GgufFile, RefusesFilesInTheWrongOrder) {
    expect_refused({source_of(shard(0)), source_of(shard(2)), source_of(shard(1))}, Code::invalid_argument,
                   "file 2 of 3: it says that it is file number 3");
}

TEST(GgufFile, RefusesAFileOfAnotherSplit) {
    expect_refused({source_of(shard(0)), source_of(shard(1, 4)), source_of(shard(2))}, Code::invalid_argument,
                   "file 2 of 3: it belongs to a model that is split into 4 files");
    expect_refused({source_of(shard(0)), source_of(shard(1)), source_of(testing::small_model())}, Code::bad_file,
                   "file 3 of 3: it is no part of a split model");
}

TEST(GgufFile, RefusesATensorThatIsInTwoFiles) {
    Writer second = shard(2);
    second.add_tensor("blk.1.a", TensorType::f32, {8});
    expect_refused({source_of(shard(0)), source_of(shard(1)), source_of(second)}, Code::bad_file,
                   "tensor 'blk.1.a' of file 3 of 3");
}

TEST(GgufFile, RefusesAnotherNumberOfTensorsThanPromised) {
    expect_refused({source_of(shard(0, 3, 5)), source_of(shard(1)), source_of(shard(2))}, Code::bad_file,
                   "have 4 tensors together, but the first says 5");
}

TEST(GgufFile, RefusesNonsenseAboutTheSplit) {
    Writer text = shard(0);
    text.set_string("split.count", "three");
    expect_refused({source_of(text)}, Code::bad_file, "split.count");
    Writer negative = shard(0);
    negative.set_i32("split.no", -1);
    expect_refused({source_of(negative)}, Code::bad_file, "split.no");
    expect_refused({source_of(shard(0, 65535))}, Code::limit, "65535 files");
}

TEST(GgufFile, SaysWhichFileIsBroken) {
    auto layout = shard(1).layout();
    ASSERT_TRUE(layout);
    const auto cut = std::make_shared<PatternSource>(layout->header, layout->file_size - 40);
    expect_refused({source_of(shard(0)), cut, source_of(shard(2))}, Code::truncated, "file 2 of 3: tensor 'blk.1.b'");
}

TEST(GgufShardNames, ListsAllFilesOfASplitModelFromAnyOfThem) {
    const std::vector<std::string> all = {"a/gemma-4-00001-of-00003.gguf", "a/gemma-4-00002-of-00003.gguf",
                                          "a/gemma-4-00003-of-00003.gguf"};
    EXPECT_EQ(shard_names(all[0]), all);
    EXPECT_EQ(shard_names(all[2]), all);
    EXPECT_EQ(shard_names("-00001-of-00001.gguf"), std::vector<std::string>{"-00001-of-00001.gguf"});
    EXPECT_EQ(shard_names("x-00001-of-01024.gguf").size(), 1024u);
}

TEST(GgufShardNames, LeavesAnyOtherNameAlone) {
    for (const char* name :
         {"", "gemma-4.gguf", "x-00000-of-00003.gguf", "x-00004-of-00003.gguf", "x-00001-of-99999.gguf",
          "x-0001-of-00003.gguf", "x-00001-of-00003.bin", "x-00001-of-0000a.gguf", "x-+0001-of-00003.gguf",
          "0001-of-00003.gguf", "x_00001-of-00003.gguf", "x-00001-of-00003.gguf.part", "x-00000-of-00000.gguf"}) {
        EXPECT_EQ(shard_names(name), std::vector<std::string>{name});
    }
}

}  // namespace
}  // namespace lapidary::gguf
