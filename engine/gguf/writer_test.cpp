#include "gguf/writer.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>

#include "testing/files.h"
#include "testing/gguf_samples.h"

namespace lapidary::gguf {
namespace {

Header read_back(const Writer& writer) {
    const auto layout = writer.layout();
    EXPECT_TRUE(layout) << layout.error().message;
    if (!layout) return {};
    auto parsed = parse_header(std::make_shared<const Bytes>(layout->header), layout->file_size);
    EXPECT_TRUE(parsed && std::holds_alternative<Header>(*parsed));
    return std::get<Header>(std::move(*parsed));
}

void expect_refused(const Writer& writer, std::string_view culprit, Code code = Code::invalid_argument) {
    const auto layout = writer.layout();
    ASSERT_FALSE(layout) << culprit;
    EXPECT_EQ(code_name(layout.error().code), code_name(code));
    EXPECT_NE(layout.error().message.find(culprit), std::string::npos) << layout.error().message;
}

TEST(GgufWriter, WritesWhatTheReaderReads) {
    Writer writer = testing::small_model();
    writer.set_u16("split.no", 0);
    writer.set_i32("negative", -5);
    writer.set_u64("large", 1ull << 60);
    writer.set_bools("pattern", {true, false, true});
    writer.set_u32s("numbers", std::array<uint32_t, 2>{1, 0xFFFFFFFF});
    const Header header = read_back(writer);
    EXPECT_EQ(header.version, 3u);
    EXPECT_EQ(header.string("general.name"), "kleines Modell ✦");
    EXPECT_EQ(header.integer("gemma4.block_count"), 1);
    EXPECT_EQ(header.number("gemma4.rope.freq_base"), 10000.0);
    EXPECT_EQ(header.find("tokenizer.ggml.add_bos_token")->as_bool(), true);
    EXPECT_EQ(header.find("split.no")->type(), ValueType::uint16);
    EXPECT_EQ(header.integer("negative"), -5);
    EXPECT_EQ(header.integer("large"), 1ll << 60);
    EXPECT_EQ(header.find("pattern")->as_array()->at(1).as_bool(), false);
    EXPECT_EQ(header.find("numbers")->as_array()->at(1).as_integer(), 0xFFFFFFFF);
    EXPECT_EQ(header.find("tokenizer.ggml.scores")->as_array()->at(2).as_number(), -2.0);
    EXPECT_EQ(header.find("tokenizer.ggml.token_type")->as_array()->at(0).as_integer(), 3);
    EXPECT_EQ(header.keys[0].key, "general.architecture");
    EXPECT_EQ(header.find_tensor("token_embd.weight")->range.size, 54u);
    EXPECT_EQ(header.find_tensor("blk.0.ffn_up.weight")->n_dims, 2u);
}

TEST(GgufWriter, ReplacesAKeyInItsPlace) {
    Writer writer;
    writer.set_u32("a", 1);
    writer.set_u32("b", 2);
    writer.set_string("a", "new");
    const Header header = read_back(writer);
    ASSERT_EQ(header.keys.size(), 2u);
    EXPECT_EQ(header.keys[0].key, "a");
    EXPECT_EQ(header.string("a"), "new");
}

TEST(GgufWriter, ForgetsAKey) {
    Writer writer;
    for (const char* key : {"a", "b", "c"}) writer.set_string(key, key);
    writer.remove("b");
    writer.remove("b");
    writer.set_string("c", "changed");
    const Header header = read_back(writer);
    ASSERT_EQ(header.keys.size(), 2u);
    EXPECT_EQ(header.string("a"), "a");
    EXPECT_EQ(header.string("c"), "changed");
}

TEST(GgufWriter, PlacesTensorsOneAfterTheOther) {
    Writer writer;
    writer.add_tensor("a", TensorType::f32, {5});
    writer.add_tensor("empty", TensorType::f32, {0});
    writer.add_tensor("b", TensorType::q8_0, {32, 3});
    writer.add_tensor("c", TensorType::f32, {});
    const auto layout = writer.layout();
    ASSERT_TRUE(layout) << layout.error().message;
    const uint64_t start = layout->header.size();
    EXPECT_EQ(start % 32, 0u);
    EXPECT_EQ(layout->tensors[0].offset, start);
    EXPECT_EQ(layout->tensors[0].size, 20u);
    EXPECT_EQ(layout->tensors[1].offset, start + 32);
    EXPECT_EQ(layout->tensors[1].size, 0u);
    EXPECT_EQ(layout->tensors[2].offset, start + 32);
    EXPECT_EQ(layout->tensors[2].size, 102u);
    EXPECT_EQ(layout->tensors[3].offset, start + 160);
    EXPECT_EQ(layout->file_size, start + 192);
}

TEST(GgufWriter, KeepsTheAlignmentItIsGiven) {
    for (const uint32_t alignment : {1u, 16u, 4096u}) {
        Writer writer;
        writer.set_alignment(alignment);
        writer.add_tensor("a", TensorType::f16, {3});
        writer.add_tensor("b", TensorType::f16, {3});
        const auto layout = writer.layout();
        ASSERT_TRUE(layout) << layout.error().message;
        EXPECT_EQ(layout->header.size() % alignment, 0u);
        EXPECT_EQ(layout->tensors[1].offset - layout->tensors[0].offset, std::max(6u, alignment));
        EXPECT_EQ(read_back(writer).alignment, alignment);
    }
}

TEST(GgufWriter, CopiesARealHeaderExactly) {
    auto bytes = testing::read_file("tests/data/fixtures/tiny-e2b-q4_0.gguf");
    ASSERT_TRUE(bytes);
    const uint64_t length = bytes->size();
    const auto shared = std::make_shared<const Bytes>(std::move(*bytes));
    const auto parsed = parse_header(shared, length);
    ASSERT_TRUE(parsed);
    const auto& header = std::get<Header>(*parsed);
    Writer writer;
    for (const KeyValue& entry : header.keys) writer.set(entry.key, entry.value);
    for (const TensorInfo& tensor : header.tensors) writer.add_tensor(tensor);
    const auto layout = writer.layout();
    ASSERT_TRUE(layout) << layout.error().message;
    EXPECT_EQ(layout->file_size, length);
    EXPECT_EQ(layout->header, Bytes(shared->begin(), shared->begin() + ptrdiff_t(header.data_start)));
    for (size_t i = 0; i < header.tensors.size(); ++i) {
        EXPECT_EQ(layout->tensors[i].offset, header.tensors[i].range.offset);
    }
}

TEST(GgufWriter, PlansAFileOfManyGibibytesWithoutHoldingIt) {
    Writer writer;
    for (int i = 0; i < 3; ++i) writer.add_tensor(format("w{}", i), TensorType::f32, {1 << 20, 1 << 10});
    const auto layout = writer.layout();
    ASSERT_TRUE(layout) << layout.error().message;
    EXPECT_EQ(layout->tensors[2].offset, layout->header.size() + (8ull << 30));
    EXPECT_EQ(layout->file_size, layout->header.size() + (12ull << 30));
}

TEST(GgufWriter, RefusesKeysTheReaderWouldRefuse) {
    Writer unnamed;
    unnamed.set_u32("", 1);
    expect_refused(unnamed, "has no name");
    Writer long_name;
    long_name.set_u32(std::string(65536, 'k'), 1);
    expect_refused(long_name, "longer than 65535");
    for (const uint32_t alignment : {0u, 3u, 48u}) {
        Writer writer;
        writer.set_alignment(alignment);
        expect_refused(writer, format("general.alignment is {}", alignment));
    }
    Writer alignment_of_another_type;
    alignment_of_another_type.set_u64("general.alignment", 32);
    expect_refused(alignment_of_another_type, "must be a uint32");
    Writer vast_padding;
    vast_padding.set_alignment(1u << 31);
    expect_refused(vast_padding, "larger than 256 MiB", Code::limit);
}

TEST(GgufWriter, RefusesBytesThatAreNoValue) {
    const Bytes three = {1, 2, 3};
    Writer writer;
    writer.set("odd", Value(ValueType::uint32, three));
    expect_refused(writer, "'odd'");
    writer.set("odd", Value(ValueType(77), three));
    expect_refused(writer, "'odd'");
    writer.set("general.alignment", Value(ValueType::uint32, std::span(three).first(0)));
    writer.remove("odd");
    expect_refused(writer, "'general.alignment'");
}

TEST(GgufWriter, RefusesTensorsTheReaderWouldRefuse) {
    const auto refused = [](std::string_view name, TensorType type, std::initializer_list<uint64_t> dims,
                            std::string_view culprit) {
        Writer writer;
        writer.add_tensor(name, type, dims);
        expect_refused(writer, culprit);
    };
    refused("", TensorType::f32, {1}, "has no name");
    refused(std::string(64, 'n'), TensorType::f32, {1}, "longer than 63");
    refused("w", TensorType::f32, {1, 1, 1, 1, 1}, "'w' has 5 dimensions");
    refused("w", TensorType::q4_0, {33}, "'w' has rows of 33");
    refused("w", TensorType(4), {32}, "'w' has type 4");
    refused("w", TensorType::f32, {~uint64_t(0)}, "'w' has a negative dimension");
    refused("w", TensorType::f32, {1ull << 62, 4}, "'w' has more elements");
    refused("w", TensorType::f32, {1ull << 62}, "'w' has more bytes");
    Writer twice;
    twice.add_tensor("w", TensorType::f32, {1});
    twice.add_tensor("w", TensorType::f32, {1});
    expect_refused(twice, "'w' occurs twice");
}

TEST(GgufWriter, RefusesTensorsThatAreTooLargeTogether) {
    Writer writer;
    for (int i = 0; i < 5; ++i) writer.add_tensor(format("w{}", i), TensorType::f32, {1ull << 60});
    expect_refused(writer, "more bytes than can be counted", Code::limit);
}

}  // namespace
}  // namespace lapidary::gguf
