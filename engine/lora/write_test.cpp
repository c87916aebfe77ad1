#include "lora/write.h"

#include <gtest/gtest.h>

#include <cstring>

#include "base/half.h"
#include "lora/read.h"
#include "lora/zip.h"
#include "testing/adapter_samples.h"
#include "testing/fixture_model.h"
#include "testing/lora_fixture.h"

namespace lapidary::lora {
namespace {

using testing::random_adapter;

class WriteAdapterTest : public ::testing::Test {
  protected:
    static void SetUpTestSuite() {
        model = new testing::FixtureModel(*testing::load_model("tests/data/fixtures/tiny-e2b-q4km.gguf"));
    }
    static void TearDownTestSuite() { delete model; }

    static ReadAdapter read(std::span<const uint8_t> file, const std::string& config = "") {
        auto adapter = read_adapter(file, {.name = "random", .config = config}, *model->table);
        EXPECT_TRUE(adapter) << adapter.error().message;
        return adapter ? std::move(*adapter) : ReadAdapter{};
    }
    static std::string text(const Bytes& bytes) { return {bytes.begin(), bytes.end()}; }

    static testing::FixtureModel* model;
};

testing::FixtureModel* WriteAdapterTest::model = nullptr;

void expect_same(const Adapter& actual, const Adapter& expected) {
    ASSERT_EQ(actual.updates.size(), expected.updates.size());
    for (size_t i = 0; i < actual.updates.size(); ++i) {
        const Update& a = actual.updates[i];
        const Update& b = expected.updates[i];
        ASSERT_EQ(label_of(a), label_of(b));
        EXPECT_EQ(a.rank, b.rank);
        EXPECT_EQ(a.scale, b.scale) << label_of(a);
        EXPECT_EQ(a.a, b.a) << label_of(a);
        EXPECT_EQ(a.b, b.b) << label_of(a);
    }
}

Adapter rounded(Adapter adapter) {
    for (Update& update : adapter.updates) {
        for (auto* values : {&update.a, &update.b}) {
            for (float& value : *values) value = f16_to_f32(f32_to_f16(value));
        }
    }
    return adapter;
}

TEST_F(WriteAdapterTest, EveryFormatGivesBackTheSameBits) {
    for (const char* name : {"tiny-e2b-q4km", "tiny-e2b-q4_0", "tiny-31b-q4km", "tiny-moe-q4km", "tiny-gemma3-q4km"}) {
        const auto loaded = testing::load_model(std::string("tests/data/fixtures/") + name + ".gguf");
        ASSERT_TRUE(loaded) << loaded.error().message;
        const auto fixture = testing::read_lora_fixture(name);
        ASSERT_TRUE(fixture) << name;
        const auto files = write_peft(fixture->adapter, *loaded->table, Dtype::f32);
        ASSERT_TRUE(files) << files.error().message;
        const auto peft = read_adapter((*files)[1].bytes, {.config = text((*files)[0].bytes)}, *loaded->table);
        ASSERT_TRUE(peft) << peft.error().message;
        expect_same(peft->adapter, fixture->adapter);
        const auto zip =
            read_adapter(*write_peft_zip(fixture->adapter, *loaded->table, Dtype::f32), {}, *loaded->table);
        ASSERT_TRUE(zip) << zip.error().message;
        EXPECT_EQ(zip->format, AdapterFormat::zip);
        expect_same(zip->adapter, fixture->adapter);
        const auto gguf =
            read_adapter(*write_gguf(fixture->adapter, *loaded->table, TensorType::f32), {}, *loaded->table);
        ASSERT_TRUE(gguf) << gguf.error().message;
        expect_same(gguf->adapter, fixture->adapter);
        const auto half =
            read_adapter(*write_gguf(fixture->adapter, *loaded->table, TensorType::f16), {}, *loaded->table);
        ASSERT_TRUE(half) << half.error().message;
        expect_same(half->adapter, rounded(fixture->adapter));
    }
}

// Gemma 3 has been called three things by transformers: what is written is what its small models are called today, and all
// three are read.
TEST_F(WriteAdapterTest, NamesTheModulesOfGemma3AsTransformersDoes) {
    const auto gemma3 = testing::load_model("tests/data/fixtures/tiny-gemma3-q4km.gguf");
    ASSERT_TRUE(gemma3) << gemma3.error().message;
    const Adapter adapter = random_adapter(*gemma3->table, {Target::q}, 4, 2, 1);
    const auto files = *write_peft(adapter, *gemma3->table, Dtype::f32);
    const std::string weights = text(files[1].bytes);
    EXPECT_TRUE(weights.contains("\"base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight\""));
    EXPECT_FALSE(weights.contains("language_model"));
    const auto gguf = *write_gguf(adapter, *gemma3->table, TensorType::f32);
    EXPECT_TRUE(text(gguf).contains("gemma3"));
    expect_same(read_adapter(gguf, {}, *gemma3->table)->adapter, adapter);
    const auto other = read_adapter(gguf, {}, *model->table);
    ASSERT_FALSE(other);
    EXPECT_TRUE(other.error().message.contains("'gemma3'")) << other.error().message;
}

TEST_F(WriteAdapterTest, PeftKeepsMixedRanksAlphasAndGlobals) {
    Adapter adapter = random_adapter(*model->table, testing::kLayerTargets, 3, 8.0f / 3, 1);
    const Adapter strong = random_adapter(*model->table, {Target::q, Target::token_embd, Target::output}, 7, 0.3f, 2);
    adapter.updates[0] = strong.updates[0];
    ASSERT_EQ(strong.updates[1].target, Target::token_embd);
    adapter.updates[8].scale = -0.5f;  // no alpha gives that: it goes into B
    Adapter expected = adapter;
    expected.updates[8].scale = 1;
    for (float& value : expected.updates[8].b) value *= -0.5f;
    for (const size_t i : {1, 2}) {
        adapter.updates.push_back(strong.updates[i]);
        expected.updates.insert(expected.updates.begin() + ptrdiff_t(9 + i - 1), strong.updates[i]);
    }
    const auto files = write_peft(adapter, *model->table, Dtype::f32);
    ASSERT_TRUE(files) << files.error().message;
    EXPECT_EQ((*files)[0].name, "adapter_config.json");
    EXPECT_EQ((*files)[1].name, "adapter_model.safetensors");
    const SafeTensors tensors = *SafeTensors::parse((*files)[1].bytes);
    EXPECT_EQ(tensors.metadata("format"), "pt");
    EXPECT_NE(tensors.find("base_model.model.model.language_model.layers.0.self_attn.q_proj.lora_A.weight"), nullptr);
    EXPECT_NE(tensors.find("base_model.model.model.language_model.embed_tokens.lora_embedding_B"), nullptr);
    expect_same(read((*files)[1].bytes, text((*files)[0].bytes)).adapter, expected);
}

TEST_F(WriteAdapterTest, PeftNamesTheModulesOfTheTextModelAlone) {
    const auto files =
        write_peft(random_adapter(*model->table, {Target::q, Target::down}, 2, 1, 1), *model->table, Dtype::f16);
    ASSERT_TRUE(files);
    const std::string config = text((*files)[0].bytes);
    EXPECT_NE(config.find(R"(model\\.language_model\\.layers\\.\\d+\\.(self_attn\\.q_proj|mlp\\.down_proj))"),
              std::string::npos)
        << config;
    EXPECT_NE(config.find("\"r\": 2"), std::string::npos) << config;
    EXPECT_NE(config.find("\"lora_alpha\": 2,"), std::string::npos) << config;
}

TEST_F(WriteAdapterTest, GgufIsLaidOutAsLlamaCppReadsIt) {
    Adapter adapter = random_adapter(*model->table, {Target::q}, 4, 2, 1);
    adapter.updates.resize(1);
    adapter.name = "facts";
    const auto file = write_gguf(adapter, *model->table, TensorType::f32);
    ASSERT_TRUE(file) << file.error().message;
    // Byte by byte, as the format's description has it.
    Bytes expected;
    const auto put = [&](auto value) {
        const auto* bytes = reinterpret_cast<const uint8_t*>(&value);
        expected.insert(expected.end(), bytes, bytes + sizeof value);
    };
    const auto put_text = [&](std::string_view value) {
        put(uint64_t(value.size()));
        expected.insert(expected.end(), value.begin(), value.end());
    };
    const auto put_string = [&](std::string_view key, std::string_view value) {
        put_text(key);
        put(uint32_t{8});
        put_text(value);
    };
    const auto put_tensor = [&](std::string_view name, uint64_t cols, uint64_t rows, uint64_t offset) {
        put_text(name);
        put(uint32_t{2});
        put(cols);
        put(rows);
        put(uint32_t{0});  // F32
        put(offset);
    };
    for (const char c : {'G', 'G', 'U', 'F'}) expected.push_back(uint8_t(c));
    put(uint32_t{3});
    put(uint64_t{2});  // tensors
    put(uint64_t{7});  // keys
    put_string("general.architecture", "gemma4");
    put_string("general.type", "adapter");
    put_string("adapter.type", "lora");
    put_string("general.name", "facts");
    put_text("adapter.lora.alpha");
    put(uint32_t{6});
    put(8.0f);
    put_text("general.file_type");
    put(uint32_t{4});
    put(uint32_t{0});
    put_text("general.quantization_version");
    put(uint32_t{4});
    put(uint32_t{2});
    put_tensor("blk.0.attn_q.weight.lora_a", 256, 4, 0);
    put_tensor("blk.0.attn_q.weight.lora_b", 4, 256, 4096);
    expected.resize((expected.size() + 31) / 32 * 32);
    for (const auto* values : {&adapter.updates[0].a, &adapter.updates[0].b}) {
        for (const float value : *values) put(value);
    }
    EXPECT_EQ(*file, expected);
}

TEST_F(WriteAdapterTest, GgufFoldsWhatOneAlphaCannotSay) {
    // rsLoRA: scale = alpha / sqrt(rank). One rank: another alpha says it exactly.
    Adapter stable = random_adapter(*model->table, {Target::q}, 4, 16 / std::sqrt(4.0f), 1);
    stable.alpha = 16;
    expect_same(read(*write_gguf(stable, *model->table, TensorType::f32)).adapter, stable);
    // Mixed ranks and scales: the odd ones carry their factor in B, and the product stays the same.
    Adapter mixed = random_adapter(*model->table, testing::kUsualTargets, 4, 2, 1);
    mixed.updates[3] = random_adapter(*model->table, {Target::o}, 8, 3, 5).updates[0];
    mixed.updates[4].scale = 0;
    const Adapter back = read(*write_gguf(mixed, *model->table, TensorType::f32)).adapter;
    ASSERT_EQ(back.updates.size(), mixed.updates.size());
    for (size_t i = 0; i < back.updates.size(); ++i) {
        const Update& was = mixed.updates[i];
        const Update& is = back.updates[i];
        EXPECT_EQ(is.a, was.a);
        for (size_t k = 0; k < was.b.size(); ++k) {
            ASSERT_NEAR(is.b[k] * is.scale, was.b[k] * was.scale, 1e-6f) << label_of(was);
        }
    }
    EXPECT_EQ(back.updates[0].b, mixed.updates[0].b);
    EXPECT_EQ(back.updates[3].scale, 1.0f);
}

TEST_F(WriteAdapterTest, RefusesWhatAFormatCannotHold) {
    const auto refused = [](const auto& result, std::string_view culprit) {
        ASSERT_FALSE(result) << culprit;
        EXPECT_NE(result.error().message.find(culprit), std::string::npos) << result.error().message;
    };
    const Adapter embedding = random_adapter(*model->table, {Target::token_embd}, 2, 1, 1);
    refused(write_gguf(embedding, *model->table, TensorType::f32), "token_embd");
    refused(write_gguf(random_adapter(*model->table, {Target::output}, 2, 1, 1), *model->table, TensorType::f32),
            "output");
    Adapter large = random_adapter(*model->table, {Target::q}, 2, 1, 1);
    large.updates[0].b[3] = 1e6f;
    refused(write_gguf(large, *model->table, TensorType::f16), "F16");
    refused(write_peft(large, *model->table, Dtype::f16), "F16");
    refused(write_gguf(large, *model->table, TensorType::q4_k), "Q4_K");
    refused(write_gguf(Adapter{}, *model->table, TensorType::f32), "nothing");
    // K of a layer that uses a donor's is never written.
    Adapter shared = random_adapter(*model->table, {Target::k}, 2, 1, 1);
    EXPECT_LT(shared.updates.back().layer + 1, model->table->layers.size());
    shared.updates[0].layer = uint32_t(model->table->layers.size() - 1);
    refused(write_gguf(shared, *model->table, TensorType::f32), "attn_k");
    refused(write_peft(shared, *model->table, Dtype::f32), "attn_k");
}

TEST(Zip, HasTheStructureOtherProgramsExpect) {
    const std::string hello = "hello";
    const Bytes first(hello.begin(), hello.end());
    const Bytes second;
    EXPECT_EQ(crc32(first), 0x3610A686u);
    const auto zip = write_zip(std::vector<ZipEntry>{{"a.txt", first}, {"ü/b", second}});
    ASSERT_TRUE(zip);
    const auto u32 = [&](size_t at) {
        uint32_t value = 0;
        std::memcpy(&value, zip->data() + at, 4);
        return value;
    };
    EXPECT_EQ(u32(0), 0x04034b50u);
    EXPECT_EQ(u32(14), 0x3610A686u);
    EXPECT_EQ(u32(18), 5u);
    EXPECT_EQ(u32(22), 5u);
    const size_t second_at = 30 + 5 + 5;
    EXPECT_EQ(u32(second_at), 0x04034b50u);
    const size_t list_at = second_at + 30 + 4;
    EXPECT_EQ(u32(list_at), 0x02014b50u);
    EXPECT_EQ(u32(list_at + 46 + 5 + 42), second_at);
    const size_t end = zip->size() - 22;
    EXPECT_EQ(u32(end), 0x06054b50u);
    EXPECT_EQ(u32(end + 12), end - list_at);
    EXPECT_EQ(u32(end + 16), list_at);
    const auto read = read_zip(*zip);
    ASSERT_TRUE(read) << read.error().message;
    ASSERT_EQ(read->size(), 2u);
    EXPECT_EQ((*read)[1].name, "ü/b");
    EXPECT_TRUE(std::ranges::equal((*read)[0].bytes, first));
    Bytes damaged = *zip;
    damaged[36] ^= 1;
    EXPECT_FALSE(read_zip(damaged));
    Bytes squeezed = *zip;
    squeezed[list_at + 10] = 8;
    EXPECT_NE(read_zip(squeezed).error().message.find("compressed"), std::string::npos);
    for (size_t size = 0; size < zip->size(); ++size) EXPECT_FALSE(read_zip(std::span(*zip).first(size)));
}

}  // namespace
}  // namespace lapidary::lora
