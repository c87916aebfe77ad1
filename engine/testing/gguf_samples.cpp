#include "testing/gguf_samples.h"

#include <array>
#include <limits>

namespace lapidary::testing {
namespace {

using gguf::ValueType;
using gguf::Writer;

constexpr int32_t kF32 = 0;
constexpr int64_t kHuge = int64_t(1) << 62;

void put_keys(RawGguf& raw) {
    raw.key("general.architecture", ValueType::string).text("gemma4");
}

// Files whose start is wrong.
void add_bad_starts(std::vector<GgufSample>& out) {
    out.push_back({"RefusesAnEmptyFile", {}, Code::bad_file, "empty"});
    out.push_back({"RefusesAFileOfThreeBytes", {'G', 'G', 'U'}, Code::bad_file, "not a GGUF file"});
    out.push_back({"RefusesAFileWithAnotherMagic",
                   RawGguf().put<uint32_t>(0x04034B50).put<uint32_t>(3).zeros(64).bytes(), Code::bad_file,
                   "not a GGUF file"});
    out.push_back({"RefusesVersion0", RawGguf(0, 0, 0).bytes(), Code::unsupported, "version 0"});
    out.push_back({"RefusesVersion1", RawGguf(0, 0, 1).bytes(), Code::unsupported, "version 1"});
    out.push_back({"RefusesVersion4", RawGguf(0, 0, 4).bytes(), Code::unsupported, "version 4"});
    out.push_back({"RefusesABigEndianFile", RawGguf(0, 0, 3u << 24).bytes(), Code::unsupported, "big-endian"});
    out.push_back({"RefusesANegativeNumberOfTensors", RawGguf(-1, 0).zeros(64).bytes(), Code::bad_file, "-1 tensors"});
    out.push_back({"RefusesMoreTensorsThanTheFileCouldHold", RawGguf(4, 0).zeros(99).bytes(), Code::bad_file,
                   "4 tensors, which do not fit in its 123 bytes"});
    out.push_back({"RefusesMoreTensorsThanAnyFileCouldHold", RawGguf(kHuge, 0).zeros(99).bytes(), Code::bad_file,
                   "4611686018427387904 tensors"});
    out.push_back({"RefusesANegativeNumberOfKeys", RawGguf(0, std::numeric_limits<int64_t>::min()).zeros(64).bytes(),
                   Code::bad_file, "-9223372036854775808 metadata keys"});
    out.push_back(
        {"RefusesMoreKeysThanTheFileCouldHold", RawGguf(0, 8).zeros(111).bytes(), Code::bad_file, "8 metadata keys"});
}

// Files with wrong metadata.
void add_bad_keys(std::vector<GgufSample>& out) {
    const auto add = [&](std::string name, const RawGguf& raw, std::string culprit) {
        out.push_back({std::move(name), raw.bytes(), Code::bad_file, std::move(culprit)});
    };
    add("RefusesAKeyThatIsLongerThanTheFile", RawGguf(0, 1).put<uint64_t>(1000).zeros(50), "metadata key number 1");
    add("RefusesAKeyWhoseLengthWrapsAround", RawGguf(0, 1).put(~uint64_t(0) - 7).zeros(50), "metadata key number 1");
    add("RefusesATextThatIsLongerThanTheFile",
        RawGguf(0, 1).key("general.name", ValueType::string).put<uint64_t>(51).zeros(50), "general.name");
    add("RefusesAnArrayThatIsLongerThanTheFile", RawGguf(0, 1).array("some.list", ValueType::uint32, 13).zeros(51),
        "some.list");
    add("RefusesAnArrayWhoseSizeWrapsAround",
        RawGguf(0, 1).array("some.list", ValueType::uint64, (uint64_t(1) << 61) + 1).zeros(64), "some.list");
    add("RefusesAnArrayOfMoreTextsThanTheFileCouldHold",
        RawGguf(0, 1).array("some.texts", ValueType::string, 9).zeros(71), "some.texts");
    add("RefusesATextInAnArrayThatIsLongerThanTheFile",
        RawGguf(0, 1).array("some.texts", ValueType::string, 2).text("a").put<uint64_t>(11).zeros(10), "some.texts");
    add("RefusesAnArrayOfArrays", RawGguf(0, 1).array("some.list", ValueType::array, 1).zeros(64), "some.list");
    add("RefusesAnArrayOfUnknownType", RawGguf(0, 1).array("some.list", ValueType(13), 1).zeros(64), "some.list");
    add("RefusesAKeyWithoutAName", RawGguf(0, 1).key("", ValueType::uint32).put<uint32_t>(1).zeros(8),
        "metadata key number 1 has no name");
    add("RefusesAKeyThatOccursTwice",
        RawGguf(0, 3)
            .key("a.b", ValueType::uint32)
            .put<uint32_t>(1)
            .key("a.c", ValueType::uint32)
            .put<uint32_t>(1)
            .key("a.b", ValueType::uint32)
            .put<uint32_t>(1),
        "'a.b' occurs twice");
    add("RefusesAnUnknownValueType", RawGguf(0, 1).key("a.b", 13).zeros(64), "'a.b' has unknown value type 13");
    add("RefusesANegativeValueType", RawGguf(0, 1).key("a.b", -1).zeros(64), "'a.b' has unknown value type -1");
    add("RefusesAnAlignmentOfAnotherType", RawGguf(0, 1).key("general.alignment", ValueType::uint64).put<uint64_t>(32),
        "general.alignment is a uint64");
    add("RefusesAnAlignmentThatIsText", RawGguf(0, 1).key("general.alignment", ValueType::string).text("32"),
        "general.alignment is a string");
    add("RefusesAnAlignmentOfZero", RawGguf(0, 1).key("general.alignment", ValueType::uint32).put<uint32_t>(0),
        "general.alignment is 0");
    add("RefusesAnAlignmentThatIsNoPowerOfTwo",
        RawGguf(0, 1).key("general.alignment", ValueType::uint32).put<uint32_t>(48), "general.alignment is 48");
}

// Files with a wrong table of tensors.
void add_bad_tensors(std::vector<GgufSample>& out) {
    const auto add = [&](std::string name, RawGguf raw, Code code, std::string culprit) {
        out.push_back({std::move(name), raw.pad().zeros(128).bytes(), code, std::move(culprit)});
    };
    const auto one = [](std::string_view name, const std::vector<int64_t>& dims, int32_t type, uint64_t offset = 0) {
        RawGguf raw(1, 1);
        put_keys(raw);
        return raw.tensor(name, dims, type, offset);
    };
    add("RefusesATensorNameOf64Bytes", one(std::string(64, 'n'), {4}, kF32), Code::bad_file, std::string(64, 'n'));
    add("RefusesATensorWithoutAName", one("", {4}, kF32), Code::bad_file, "tensor number 1 has no name");
    add("RefusesATensorThatOccursTwice", RawGguf(2, 0).tensor("twin", {4}, kF32, 0).tensor("twin", {4}, kF32, 32),
        Code::bad_file, "'twin' occurs twice");
    add("RefusesFiveDimensions", one("w", {1, 1, 1, 1, 1}, kF32), Code::bad_file, "'w' has 5 dimensions");
    add("RefusesANegativeDimension", one("w", {4, -1}, kF32), Code::bad_file, "'w' has a negative dimension");
    add("RefusesMoreElementsThanCanBeCounted", one("w", {kHuge, 2}, kF32), Code::bad_file, "'w' has more elements");
    add("RefusesMoreElementsThanCanBeCountedBehindAZero", one("w", {0, kHuge, 4}, kF32), Code::bad_file,
        "'w' has more elements");
    add("RefusesMoreBytesThanCanBeCounted", one("w", {kHuge}, 28), Code::bad_file, "'w' has more bytes");
    add("RefusesAnUnknownTensorType", one("w", {4}, 99), Code::unsupported, "'w' has type 99");
    add("RefusesARetiredTensorType", one("w", {4}, 4), Code::unsupported, "'w' has type 4");
    add("RefusesANegativeTensorType", one("w", {4}, -1), Code::unsupported, "'w' has type -1");
    add("RefusesRowsThatAreNotWholeBlocks", one("w", {33}, 2), Code::bad_file, "'w' has rows of 33");
    add("RefusesAQuantisedScalar", one("w", {}, 2), Code::bad_file, "'w' has rows of 1");
    add("RefusesAnOffsetThatIsNotAligned", one("w", {4}, kF32, 8), Code::bad_file, "'w' starts at offset 8");
    add("RefusesATensorThatEndsBeyondTheFile", one("w", {33}, kF32), Code::truncated, "'w' ends beyond");
    add("RefusesATensorThatStartsBeyondTheFile", one("w", {4}, kF32, 160), Code::truncated, "'w' ends beyond");
    add("RefusesAnOffsetThatWrapsAround", one("w", {4}, kF32, ~uint64_t(31)), Code::truncated, "'w' ends beyond");
    add("RefusesTensorsThatOverlap", RawGguf(2, 0).tensor("v", {4}, kF32, 32).tensor("w", {9}, kF32, 0), Code::bad_file,
        "'w' and 'v' overlap");
    // The data section would start at 2 GiB: even an empty tensor there is outside the file.
    out.push_back({"RefusesAnEmptyTensorBeyondTheFile",
                   RawGguf(1, 1)
                       .key("general.alignment", ValueType::uint32)
                       .put<uint32_t>(1u << 31)
                       .tensor("w", {0}, kF32, 0)
                       .bytes(),
                   Code::truncated, "'w' ends beyond"});
}

Bytes every_value_type() {
    RawGguf raw(0, 14);
    raw.key("u8", ValueType::uint8).put<uint8_t>(200);
    raw.key("i8", ValueType::int8).put<int8_t>(-100);
    raw.key("u16", ValueType::uint16).put<uint16_t>(60000);
    raw.key("i16", ValueType::int16).put<int16_t>(-30000);
    raw.key("u32", ValueType::uint32).put<uint32_t>(4000000000);
    raw.key("i32", ValueType::int32).put<int32_t>(-2000000000);
    raw.key("f32", ValueType::float32).put<float>(1.5f);
    raw.key("bool", ValueType::boolean).put<uint8_t>(1);
    raw.key("odd bool", ValueType::boolean).put<uint8_t>(7);
    raw.key("string", ValueType::string).text(std::string_view("a\0b", 3));
    raw.key("u64", ValueType::uint64).put<uint64_t>(1ull << 40);
    raw.key("large u64", ValueType::uint64).put<uint64_t>(1ull << 63);
    raw.key("i64", ValueType::int64).put<int64_t>(-(int64_t(1) << 40));
    raw.key("f64", ValueType::float64).put<double>(-2.25);
    return raw.bytes();
}

Bytes every_array_type() {
    RawGguf raw(0, 13);
    raw.array("u8", ValueType::uint8, 3).put<uint8_t>(1).put<uint8_t>(2).put<uint8_t>(255);
    raw.array("i8", ValueType::int8, 2).put<int8_t>(1).put<int8_t>(-1);
    raw.array("u16", ValueType::uint16, 2).put<uint16_t>(1).put<uint16_t>(65535);
    raw.array("i16", ValueType::int16, 2).put<int16_t>(1).put<int16_t>(-1);
    raw.array("u32", ValueType::uint32, 2).put<uint32_t>(1).put<uint32_t>(0xFFFFFFFF);
    raw.array("i32", ValueType::int32, 2).put<int32_t>(1).put<int32_t>(-1);
    raw.array("f32", ValueType::float32, 2).put<float>(0.5f).put<float>(-0.5f);
    raw.array("bool", ValueType::boolean, 3).put<uint8_t>(1).put<uint8_t>(0).put<uint8_t>(2);
    raw.array("string", ValueType::string, 3).text("one").text("").text("drei");
    raw.array("u64", ValueType::uint64, 1).put<uint64_t>(1ull << 40);
    raw.array("i64", ValueType::int64, 1).put<int64_t>(-1);
    raw.array("f64", ValueType::float64, 1).put<double>(0.25);
    raw.array("empty", ValueType::string, 0);
    return raw.bytes();
}

Writer dialect_of_llama_cpp() {
    Writer writer;
    writer.set_string("general.architecture", "gemma4");
    writer.set_string("tokenizer.ggml.model", "gemma4");
    writer.set_u32("gemma4.block_count", 2);
    writer.set_u32("gemma4.attention.head_count_kv", 1);
    writer.set_bools("gemma4.attention.sliding_window_pattern", {true, false});
    writer.set_f32("gemma4.attention.layer_norm_rms_epsilon", 1e-6f);
    writer.add_tensor("token_embd.weight", TensorType::q6_k, {256, 4});
    return writer;
}

Writer dialect_of_ollama() {
    Writer writer;
    writer.set_string("general.architecture", "gemma4");
    writer.set_string("tokenizer.ggml.model", "llama");
    writer.set_string("tokenizer.ggml.pre", "gemma4");
    writer.set_u32("gemma4.block_count", 2);
    writer.set_i32s("gemma4.attention.head_count_kv", std::array<int32_t, 2>{1, 2});
    writer.set_u64("general.parameter_count", 5'000'000'000);
    writer.add_tensor("token_embd.weight", TensorType::q4_k, {256, 4});
    writer.add_tensor("v.blk.0.attn_q.weight", TensorType::bf16, {8, 8});
    return writer;
}

Writer odd_shapes() {
    Writer writer;
    writer.add_tensor("scalar", TensorType::f32, {});
    writer.add_tensor("empty", TensorType::f32, {0});
    writer.add_tensor("empty rows", TensorType::q4_0, {32, 0, 3});
    writer.add_tensor("four", TensorType::f16, {3, 5, 2, 2});
    writer.add_tensor("empty at the end", TensorType::q8_0, {0, 7});
    return writer;
}

void add_good_files(std::vector<GgufSample>& out) {
    out.push_back({"ReadsAFileWithNothingInIt", RawGguf(0, 0).bytes(), {}, {}});
    out.push_back({"ReadsASmallModel", whole_file(small_model()), {}, {}});
    out.push_back({"ReadsVersion2", RawGguf(1, 0, 2).tensor("w", {4}, kF32, 0).pad().zeros(16).bytes(), {}, {}});
    out.push_back({"ReadsEveryValueType", every_value_type(), {}, {}});
    out.push_back({"ReadsEveryArrayType", every_array_type(), {}, {}});
    out.push_back({"ReadsTheDialectOfLlamaCpp", whole_file(dialect_of_llama_cpp()), {}, {}});
    out.push_back({"ReadsTheDialectOfOllama", whole_file(dialect_of_ollama()), {}, {}});
    out.push_back({"ReadsScalarsAndEmptyTensors", whole_file(odd_shapes()), {}, {}});
    // Tensors out of order and with a hole between them; nothing after the last byte.
    out.push_back({"ReadsTensorsInAnyOrderWithoutPaddingAtTheEnd",
                   RawGguf(2, 0).tensor("b", {5}, kF32, 96).tensor("a", {9}, kF32, 0).pad().zeros(96 + 20).bytes(),
                   {},
                   {}});
    for (const uint32_t alignment : {1, 8, 64, 4096}) {
        Writer writer = small_model();
        writer.set_alignment(alignment);
        out.push_back({format("ReadsAnAlignmentOf{}", alignment), whole_file(writer), {}, {}});
    }
}

}  // namespace

RawGguf::RawGguf(int64_t n_tensors, int64_t n_keys, uint32_t version) {
    put<uint32_t>(0x46554747).put(version).put(n_tensors).put(n_keys);
}

RawGguf& RawGguf::text(std::string_view text) {
    put<uint64_t>(text.size());
    bytes_.insert(bytes_.end(), text.begin(), text.end());
    return *this;
}

RawGguf& RawGguf::key(std::string_view name, ValueType type) {
    return text(name).put(int32_t(type));
}

RawGguf& RawGguf::array(std::string_view name, ValueType element, uint64_t count) {
    return key(name, ValueType::array).put(int32_t(element)).put(count);
}

RawGguf& RawGguf::tensor(std::string_view name, const std::vector<int64_t>& dims, int32_t type, uint64_t offset) {
    text(name).put(uint32_t(dims.size()));
    for (const int64_t dim : dims) put(dim);
    return put(type).put(offset);
}

RawGguf& RawGguf::pad(size_t alignment) {
    return zeros((alignment - bytes_.size() % alignment) % alignment);
}

RawGguf& RawGguf::zeros(size_t count) {
    bytes_.resize(bytes_.size() + count);
    return *this;
}

Bytes whole_file(const Writer& writer) {
    auto layout = writer.layout();
    if (!layout) return {};
    layout->header.resize(size_t(layout->file_size));
    return std::move(layout->header);
}

Writer small_model() {
    Writer writer;
    writer.set_string("general.architecture", "gemma4");
    writer.set_string("general.name", "kleines Modell ✦");
    writer.set_u32("gemma4.block_count", 1);
    writer.set_f32("gemma4.rope.freq_base", 10000.0f);
    writer.set_bool("tokenizer.ggml.add_bos_token", true);
    writer.set_strings("tokenizer.ggml.tokens", std::array<std::string_view, 3>{"<pad>", "", "▁a"});
    writer.set_f32s("tokenizer.ggml.scores", std::array<float, 3>{0, -1, -2});
    writer.set_i32s("tokenizer.ggml.token_type", std::array<int32_t, 3>{3, 3, 1});
    writer.add_tensor("token_embd.weight", TensorType::q4_0, {32, 3});
    writer.add_tensor("output_norm.weight", TensorType::f32, {32});
    writer.add_tensor("blk.0.ffn_up.weight", TensorType::q4_k, {256, 1});
    return writer;
}

std::vector<GgufSample> gguf_samples() {
    std::vector<GgufSample> out;
    add_good_files(out);
    add_bad_starts(out);
    add_bad_keys(out);
    add_bad_tensors(out);
    return out;
}

}  // namespace lapidary::testing
