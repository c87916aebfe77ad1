#include "gguf/header.h"

#include <gtest/gtest.h>

#include "testing/files.h"
#include "testing/gguf_samples.h"

namespace lapidary::gguf {
namespace {

using testing::GgufSample;
using testing::RawGguf;

Result<std::variant<Header, NeedMore>> parse(Bytes prefix, uint64_t file_length) {
    return parse_header(std::make_shared<const Bytes>(std::move(prefix)), file_length);
}

// The header of a whole file, or why not. A whole file never needs more.
Result<Header> parse_whole(const Bytes& bytes) {
    auto parsed = TRY(parse(bytes, bytes.size()));
    if (auto* header = std::get_if<Header>(&parsed)) return std::move(*header);
    return fail(Code::internal, "a whole file needs more");
}

Bytes sample(std::string_view name) {
    for (const GgufSample& each : testing::gguf_samples()) {
        if (each.name == name) return each.bytes;
    }
    ADD_FAILURE() << "no sample " << name;
    return {};
}

// Zeros behind a few real bytes, as long as you like: a file of many gigabytes, or one that fails in the middle.
class LongSource final : public ByteSource {
  public:
    LongSource(Bytes start, uint64_t size) : start_(std::move(start)), size_(size) {}
    [[nodiscard]] uint64_t size() const override { return size_; }
    Task<Result<Bytes>> read(ByteRange range, Cancel cancel) override {
        CO_TRY(cancel.check());
        CO_TRY(check_range(range, size_));
        if (++reads > fail_after) co_return fail(Code::io, "the network went away");
        if (reads == cancel_after) cancel.request();
        bytes_read += range.size;
        last_byte_read = std::max(last_byte_read, range.offset + range.size);
        Bytes bytes(size_t(range.size));
        for (uint64_t i = 0; i < range.size && range.offset + i < start_.size(); ++i) {
            bytes[size_t(i)] = start_[size_t(range.offset + i)];
        }
        if (reads >= short_after) bytes.clear();
        co_return bytes;
    }

    int fail_after = 1000;
    int cancel_after = 1000;
    int short_after = 1000;
    int reads = 0;
    uint64_t bytes_read = 0;
    uint64_t last_byte_read = 0;

  private:
    Bytes start_;
    uint64_t size_;
};

// A header of about `tokens` × 20 bytes, followed by a tensor of a gigabyte.
Writer with_vocabulary(int tokens) {
    Writer writer = testing::small_model();
    std::vector<std::string> texts;
    texts.reserve(size_t(tokens));
    for (int i = 0; i < tokens; ++i) texts.push_back(format("token {}", 100000 + i));
    writer.set_strings("tokenizer.ggml.tokens", texts);
    writer.set_f32s("tokenizer.ggml.scores", std::vector<float>(size_t(tokens)));
    writer.add_tensor("large", TensorType::f32, {1 << 14, 1 << 14});
    return writer;
}

class EveryGgufSample : public ::testing::TestWithParam<GgufSample> {};

TEST_P(EveryGgufSample, AsItsNameSays) {
    const auto header = parse_whole(GetParam().bytes);
    if (!GetParam().refusal) {
        EXPECT_TRUE(header) << header.error().message;
        return;
    }
    ASSERT_FALSE(header);
    EXPECT_EQ(code_name(header.error().code), code_name(*GetParam().refusal)) << header.error().message;
    EXPECT_NE(header.error().message.find(GetParam().culprit), std::string::npos) << header.error().message;
}

INSTANTIATE_TEST_SUITE_P(GgufHeader, EveryGgufSample, ::testing::ValuesIn(testing::gguf_samples()),
                         [](const auto& info) { return info.param.name; });

TEST(GgufHeader, RefusesATextOfMoreThanAGibibyte) {
    const auto bytes = RawGguf(0, 1).key("general.name", ValueType::string).put<uint64_t>((1 << 30) + 1).bytes();
    const auto parsed = parse(bytes, 1ull << 40);
    ASSERT_FALSE(parsed);
    EXPECT_EQ(parsed.error().code, Code::bad_file);
    EXPECT_NE(parsed.error().message.find("general.name"), std::string::npos);
}

TEST(GgufHeader, RefusesAnArrayOfMoreThanAGibiElements) {
    const auto bytes = RawGguf(0, 1).array("some.list", ValueType::uint8, (1 << 30) + 1).bytes();
    const auto parsed = parse(bytes, 1ull << 40);
    ASSERT_FALSE(parsed);
    EXPECT_EQ(parsed.error().code, Code::bad_file);
    EXPECT_NE(parsed.error().message.find("some.list"), std::string::npos);
}

TEST(GgufHeader, RefusesAHeaderOfMoreThan256MiBBeforeReadingIt) {
    const auto bytes = RawGguf(0, 1).array("some.list", ValueType::uint8, 1 << 30).bytes();
    const auto parsed = parse(bytes, 1ull << 40);
    ASSERT_FALSE(parsed);
    EXPECT_EQ(parsed.error().code, Code::limit);
}

TEST(GgufHeader, RefusesMoreKeysOrTensorsThanItIsWillingToHold) {
    const auto keys = parse(RawGguf(0, kMaxKeys + 1).bytes(), 1ull << 40);
    ASSERT_FALSE(keys);
    EXPECT_EQ(keys.error().code, Code::limit);
    EXPECT_NE(keys.error().message.find("65537 metadata keys"), std::string::npos) << keys.error().message;
    const auto tensors = parse(RawGguf(kMaxTensors + 1, 0).bytes(), 1ull << 40);
    ASSERT_FALSE(tensors);
    EXPECT_EQ(tensors.error().code, Code::limit);
    EXPECT_NE(tensors.error().message.find("131073 tensors"), std::string::npos) << tensors.error().message;
}

TEST(GgufHeader, RefusesAKeyOf65536Bytes) {
    const auto with_key_of = [](size_t size) {
        return parse_whole(RawGguf(0, 1).key(std::string(size, 'k'), ValueType::uint8).put<uint8_t>(0).bytes());
    };
    EXPECT_TRUE(with_key_of(65535));
    const auto refused = with_key_of(65536);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::bad_file);
    EXPECT_NE(refused.error().message.find("'kkkk"), std::string::npos);
    EXPECT_LT(refused.error().message.size(), 300u);
}

TEST(GgufHeader, TakesATensorNameOf63Bytes) {
    const auto header = parse_whole(RawGguf(1, 0).tensor(std::string(63, 'n'), {1}, 0, 0).pad().zeros(4).bytes());
    ASSERT_TRUE(header) << header.error().message;
    EXPECT_NE(header->find_tensor(std::string(63, 'n')), nullptr);
}

TEST(GgufHeader, RefusesEveryFileCutShort) {
    const Bytes whole = testing::whole_file(testing::small_model());
    const auto header = parse_whole(whole);
    ASSERT_TRUE(header) << header.error().message;
    const TensorInfo& last = header->tensors.back();
    const uint64_t end = last.range.offset + last.range.size;
    for (uint64_t size = 0; size < end; ++size) {
        const auto cut = parse_whole(Bytes(whole.begin(), whole.begin() + ptrdiff_t(size)));
        ASSERT_FALSE(cut) << size;
        const bool says_why = cut.error().code == Code::truncated || cut.error().code == Code::bad_file;
        ASSERT_TRUE(says_why && !cut.error().message.empty()) << size << ": " << cut.error().message;
    }
    // What is behind the last tensor is only padding.
    for (uint64_t size = end; size < whole.size(); ++size) {
        ASSERT_TRUE(parse_whole(Bytes(whole.begin(), whole.begin() + ptrdiff_t(size)))) << size;
    }
}

TEST(GgufHeader, AsksForMoreOfEveryStartOfAGoodFileUntilItIsEnough) {
    for (const GgufSample& good : testing::gguf_samples()) {
        if (good.refusal) continue;
        const auto header = parse_whole(good.bytes);
        ASSERT_TRUE(header);
        for (uint64_t size = 0; size < good.bytes.size(); ++size) {
            const auto parsed =
                parse(Bytes(good.bytes.begin(), good.bytes.begin() + ptrdiff_t(size)), good.bytes.size());
            ASSERT_TRUE(parsed) << good.name << " at " << size << ": " << parsed.error().message;
            const auto* more = std::get_if<NeedMore>(&*parsed);
            if (more == nullptr) continue;
            ASSERT_GT(more->bytes, size) << good.name;
            ASSERT_LE(more->bytes, std::min<uint64_t>(header->data_start, good.bytes.size())) << good.name;
        }
    }
}

TEST(GgufHeader, KnowsFromCountsHowMuchIsStillToCome) {
    const auto start = RawGguf(10, 3).array("some.texts", ValueType::string, 1000).bytes();
    const auto parsed = parse(start, 1 << 20);
    ASSERT_TRUE(parsed);
    // 1,000 strings of at least 8 bytes, 2 keys of at least 14, 10 tensors of at least 25.
    EXPECT_EQ(std::get<NeedMore>(*parsed).bytes, start.size() + 8000 + 28 + 250);
}

TEST(GgufHeader, ReadsEveryValue) {
    const auto header = parse_whole(sample("ReadsEveryValueType"));
    ASSERT_TRUE(header);
    EXPECT_EQ(header->integer("u8"), 200);
    EXPECT_EQ(header->integer("i8"), -100);
    EXPECT_EQ(header->integer("u16"), 60000);
    EXPECT_EQ(header->integer("i16"), -30000);
    EXPECT_EQ(header->integer("u32"), 4000000000);
    EXPECT_EQ(header->integer("i32"), -2000000000);
    EXPECT_EQ(header->integer("u64"), int64_t(1) << 40);
    EXPECT_EQ(header->integer("i64"), -(int64_t(1) << 40));
    EXPECT_EQ(header->number("f32"), 1.5);
    EXPECT_EQ(header->number("f64"), -2.25);
    EXPECT_EQ(header->string("string"), std::string_view("a\0b", 3));
    EXPECT_EQ(header->find("bool")->as_bool(), true);
    EXPECT_EQ(header->find("odd bool")->as_bool(), true);
    EXPECT_EQ(header->find("nothing"), nullptr);
    EXPECT_EQ(header->integer("nothing"), std::nullopt);
    EXPECT_EQ(header->integer("string"), std::nullopt);
    EXPECT_EQ(header->string("u8"), std::nullopt);
}

TEST(GgufHeader, ReadsEveryArray) {
    const auto header = parse_whole(sample("ReadsEveryArrayType"));
    ASSERT_TRUE(header);
    const auto element = [&](std::string_view key, uint64_t index) { return header->find(key)->as_array()->at(index); };
    EXPECT_EQ(element("u8", 2).as_integer(), 255);
    EXPECT_EQ(element("i8", 1).as_integer(), -1);
    EXPECT_EQ(element("u16", 1).as_integer(), 65535);
    EXPECT_EQ(element("i16", 1).as_integer(), -1);
    EXPECT_EQ(element("u32", 1).as_integer(), 0xFFFFFFFF);
    EXPECT_EQ(element("i32", 1).as_integer(), -1);
    EXPECT_EQ(element("f32", 1).as_number(), -0.5);
    EXPECT_EQ(element("bool", 0).as_bool(), true);
    EXPECT_EQ(element("bool", 1).as_bool(), false);
    EXPECT_EQ(element("bool", 2).as_bool(), true);
    EXPECT_EQ(element("u64", 0).as_integer(), int64_t(1) << 40);
    EXPECT_EQ(element("i64", 0).as_integer(), -1);
    EXPECT_EQ(element("f64", 0).as_number(), 0.25);
    std::vector<std::string> texts;
    header->find("string")->as_array()->for_each_string(
        [&](uint64_t, std::string_view text) { texts.emplace_back(text); });
    EXPECT_EQ(texts, (std::vector<std::string>{"one", "", "drei"}));
    EXPECT_EQ(header->find("empty")->as_array()->size(), 0u);
}

TEST(GgufHeader, ReadsBothDialectsOfGemma4) {
    const auto llama_cpp = parse_whole(sample("ReadsTheDialectOfLlamaCpp"));
    ASSERT_TRUE(llama_cpp);
    EXPECT_EQ(llama_cpp->string("tokenizer.ggml.model"), "gemma4");
    EXPECT_EQ(llama_cpp->integer("gemma4.attention.head_count_kv"), 1);
    EXPECT_EQ(llama_cpp->find("gemma4.attention.sliding_window_pattern")->as_array()->at(0).as_bool(), true);
    const auto ollama = parse_whole(sample("ReadsTheDialectOfOllama"));
    ASSERT_TRUE(ollama);
    EXPECT_EQ(ollama->string("tokenizer.ggml.model"), "llama");
    EXPECT_EQ(ollama->integer("general.parameter_count"), 5'000'000'000);
    EXPECT_EQ(ollama->integer("gemma4.attention.head_count_kv"), std::nullopt);
    EXPECT_EQ(ollama->find("gemma4.attention.head_count_kv")->as_array()->at(1).as_integer(), 2);
    EXPECT_NE(ollama->find_tensor("v.blk.0.attn_q.weight"), nullptr);
}

TEST(GgufHeader, GivesScalarsOneElementAndEmptyTensorsNone) {
    const auto header = parse_whole(sample("ReadsScalarsAndEmptyTensors"));
    ASSERT_TRUE(header);
    EXPECT_EQ(header->find_tensor("scalar")->elements(), 1u);
    EXPECT_EQ(header->find_tensor("scalar")->range.size, 4u);
    EXPECT_EQ(header->find_tensor("empty")->elements(), 0u);
    EXPECT_EQ(header->find_tensor("empty rows")->range.size, 0u);
    EXPECT_EQ(header->find_tensor("four")->elements(), 60u);
    EXPECT_EQ(header->find_tensor("four")->ne[2], 2u);
}

TEST(GgufHeader, PlacesTensorsBehindTheHeader) {
    for (const uint64_t alignment : {1, 8, 64, 4096}) {
        const auto header = parse_whole(sample(format("ReadsAnAlignmentOf{}", alignment)));
        ASSERT_TRUE(header);
        EXPECT_EQ(header->alignment, alignment);
        EXPECT_EQ(header->data_start % alignment, 0u);
        EXPECT_EQ(header->tensors[0].range.offset, header->data_start);
    }
}

TEST(GgufHeader, PlacesTensorsBeyondFourGibibytes) {
    const uint64_t offset = 5ull << 30;
    const uint64_t rows = 3ull << 20;  // 3 · 2²⁰ rows of 1,024 floats are 12 GiB
    const auto bytes =
        RawGguf(2, 0).tensor("a", {4}, 0, offset).tensor("b", {1024, int64_t(rows)}, 0, offset + 32).pad();
    const uint64_t data_start = bytes.bytes().size();
    const uint64_t end = data_start + offset + 32 + rows * 4096;
    const auto parsed = parse(bytes.bytes(), end);
    ASSERT_TRUE(parsed) << parsed.error().message;
    const auto& header = std::get<Header>(*parsed);
    EXPECT_EQ(header.find_tensor("a")->range.offset, data_start + offset);
    EXPECT_EQ(header.find_tensor("b")->range.size, rows * 4096);
    EXPECT_EQ(header.find_tensor("b")->elements(), rows * 1024);
    const auto short_by_one = parse(bytes.bytes(), end - 1);
    ASSERT_FALSE(short_by_one);
    EXPECT_EQ(short_by_one.error().code, Code::truncated);
}

TEST(GgufHeader, FindsAmongAsManyKeysAsThereMayBe) {
    // All names share a long start, and come in descending order.
    RawGguf raw(0, kMaxKeys);
    const auto name = [](uint64_t i) { return format("a.long.start.that.all.of.them.share.{}", 200000 - i); };
    for (uint64_t i = 0; i < kMaxKeys; ++i) raw.key(name(i), ValueType::uint32).put(uint32_t(i));
    const auto header = parse_whole(raw.bytes());
    ASSERT_TRUE(header) << header.error().message;
    for (const uint64_t i : {uint64_t(0), uint64_t(1), kMaxKeys / 2, kMaxKeys - 1}) {
        EXPECT_EQ(header->integer(name(i)), int64_t(i));
    }
    EXPECT_EQ(header->find(name(kMaxKeys)), nullptr);
}

TEST(GgufHeader, StaysWholeWhenCopied) {
    auto header = std::make_unique<Header>(*parse_whole(testing::whole_file(testing::small_model())));
    const Header copy = *header;
    header.reset();
    EXPECT_EQ(copy.string("general.architecture"), "gemma4");
    EXPECT_EQ(copy.find_tensor("output_norm.weight")->name, "output_norm.weight");
}

TEST(GgufRead, ReadsAModelByRanges) {
    auto bytes = testing::read_file("tests/data/fixtures/tiny-e2b-q4km.gguf");
    ASSERT_TRUE(bytes);
    const uint64_t length = bytes->size();
    MemorySource source(std::move(*bytes));
    const auto header = *read_header(source, {}).run_now();
    ASSERT_TRUE(header) << header.error().message;
    EXPECT_EQ(header->string("general.architecture"), "gemma4");
    EXPECT_EQ(header->version, 3u);
    EXPECT_LT(header->bytes->size(), length);
    ASSERT_NE(header->find_tensor("token_embd.weight"), nullptr);
    EXPECT_EQ(header->find_tensor("token_embd.weight")->type->name, "Q6_K");
}

TEST(GgufRead, ReadsOnlyTheHeaderOfALargeFile) {
    for (const int tokens : {10, 5'000, 20'000, 100'000}) {
        const auto layout = with_vocabulary(tokens).layout();
        ASSERT_TRUE(layout) << layout.error().message;
        LongSource source(layout->header, layout->file_size);
        const auto header = *read_header(source, {}).run_now();
        ASSERT_TRUE(header) << header.error().message;
        EXPECT_EQ(header->find_tensor("large")->range.size, 1ull << 30);
        EXPECT_LE(source.last_byte_read, std::max<uint64_t>(64 << 10, 2 * layout->header.size())) << tokens;
        EXPECT_EQ(source.bytes_read, source.last_byte_read) << "nothing is read twice";
        EXPECT_LE(source.reads, 4) << tokens;
    }
}

TEST(GgufRead, PassesOnAFailureInTheMiddle) {
    const auto layout = with_vocabulary(20'000).layout();
    ASSERT_TRUE(layout);
    LongSource source(layout->header, layout->file_size);
    source.fail_after = 1;
    const auto header = *read_header(source, {}).run_now();
    ASSERT_FALSE(header);
    EXPECT_EQ(header.error().code, Code::io);
    EXPECT_EQ(header.error().message, "the network went away");
    EXPECT_EQ(source.reads, 2);
}

TEST(GgufRead, DoesNotSpinWhenASourceGivesNothing) {
    const auto layout = with_vocabulary(20'000).layout();
    ASSERT_TRUE(layout);
    LongSource source(layout->header, layout->file_size);
    source.short_after = 2;
    const auto header = *read_header(source, {}).run_now();
    ASSERT_FALSE(header);
    EXPECT_EQ(header.error().code, Code::io);
    EXPECT_EQ(source.reads, 2);
}

TEST(GgufRead, StopsWhenCancelled) {
    const auto layout = with_vocabulary(20'000).layout();
    ASSERT_TRUE(layout);
    LongSource source(layout->header, layout->file_size);
    source.cancel_after = 1;
    const auto header = *read_header(source, {}).run_now();
    ASSERT_FALSE(header);
    EXPECT_EQ(header.error().code, Code::cancelled);
    EXPECT_EQ(source.reads, 1);
}

TEST(GgufRead, AsksNothingOfAnEmptyFile) {
    LongSource source({}, 0);
    const auto header = *read_header(source, {}).run_now();
    ASSERT_FALSE(header);
    EXPECT_EQ(header.error().code, Code::bad_file);
    EXPECT_EQ(source.reads, 0);
}

TEST(GgufRead, ReadsTheRealVocabulary) {
    auto bytes = testing::read_vocabulary();
    if (!bytes) GTEST_SKIP() << "the real vocabulary is not beside the repository";
    const uint64_t length = bytes->size();
    LongSource source(std::move(*bytes), length);
    const auto header = *read_header(source, {}).run_now();
    ASSERT_TRUE(header) << header.error().message;
    EXPECT_TRUE(header->tensors.empty());
    EXPECT_EQ(header->find("tokenizer.ggml.tokens")->as_array()->size(), 262144u);
    EXPECT_LE(source.reads, 6);
}

}  // namespace
}  // namespace lapidary::gguf
