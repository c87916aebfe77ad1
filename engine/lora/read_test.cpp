#include "lora/read.h"

#include <gtest/gtest.h>

#include <limits>
#include <set>

#include "gguf/writer.h"
#include "lora/module_pattern.h"
#include "lora/safetensors.h"
#include "testing/fixture_model.h"

namespace lapidary::lora {
namespace {

constexpr const char* kConfig = R"({"peft_type":"LORA","r":2,"lora_alpha":8})";

class ReadAdapterTest : public ::testing::Test {
  protected:
    static void SetUpTestSuite() {
        e2b = new testing::FixtureModel(*testing::load_model("tests/data/fixtures/tiny-e2b-q4km.gguf"));
        large = new testing::FixtureModel(*testing::load_model("tests/data/fixtures/tiny-31b-q4km.gguf"));
    }
    static void TearDownTestSuite() {
        delete e2b;
        delete large;
    }

    static void add(SafeTensorsWriter& writer, const std::string& name, std::initializer_list<uint64_t> shape,
                    float value = 0.5f) {
        size_t count = 1;
        for (const uint64_t size : shape) count *= size_t(size);
        writer.add(name, std::vector<uint64_t>(shape), std::vector<float>(count, value));
    }
    // A pair for a module of a layer, of rank 2.
    static void add_pair(SafeTensorsWriter& writer, const std::string& module, uint64_t in, uint64_t out,
                         uint64_t rank = 2) {
        add(writer, "base_model.model." + module + ".lora_A.weight", {rank, in}, 0.25f);
        add(writer, "base_model.model." + module + ".lora_B.weight", {out, rank}, -1);
    }
    static Result<ReadAdapter> read(const SafeTensorsWriter& writer, const std::string& config = kConfig,
                                    const testing::FixtureModel& model = *e2b) {
        return read_adapter(writer.file(), {.name = "mine", .config = config}, *model.table);
    }
    static void expect_refused(const Result<ReadAdapter>& read, std::string_view culprit) {
        ASSERT_FALSE(read) << culprit;
        EXPECT_NE(read.error().message.find(culprit), std::string::npos) << read.error().message;
    }

    static testing::FixtureModel* e2b;
    static testing::FixtureModel* large;
};

testing::FixtureModel* ReadAdapterTest::e2b = nullptr;
testing::FixtureModel* ReadAdapterTest::large = nullptr;

constexpr const char* kQ = "model.language_model.layers.0.self_attn.q_proj";

TEST_F(ReadAdapterTest, ReadsPeftWithBothPrefixes) {
    for (const std::string prefix : {"model.language_model.", "model.", "language_model.model.", ""}) {
        SafeTensorsWriter writer;
        add_pair(writer, prefix + "layers.1.self_attn.q_proj", 256, 256);
        add_pair(writer, prefix + "layers.0.mlp.down_proj", 512, 256);
        add_pair(writer, prefix + "layers.0.per_layer_input_gate", 256, e2b->config->per_layer_width);
        add_pair(writer, prefix + "layers.0.per_layer_projection", e2b->config->per_layer_width, 256);
        const auto adapter = read(writer);
        ASSERT_TRUE(adapter) << prefix << ": " << adapter.error().message;
        EXPECT_EQ(adapter->format, AdapterFormat::peft);
        ASSERT_EQ(adapter->adapter.updates.size(), 4u);
        EXPECT_EQ(adapter->adapter.name, "mine");
        const Update& down = adapter->adapter.updates[0];
        EXPECT_EQ(label_of(down), "blk.0.ffn_down");
        EXPECT_EQ(down.in, 512u);
        EXPECT_EQ(down.out, 256u);
        EXPECT_EQ(down.rank, 2u);
        EXPECT_EQ(down.scale, 4.0f);
        EXPECT_EQ(down.a[0], 0.25f);
        EXPECT_EQ(down.b[0], -1.0f);
        EXPECT_EQ(label_of(adapter->adapter.updates[3]), "blk.1.attn_q");
    }
}

TEST_F(ReadAdapterTest, FollowsPatternsAndRsLora) {
    SafeTensorsWriter writer;
    add_pair(writer, "model.layers.0.self_attn.q_proj", 256, 256);
    add_pair(writer, "model.layers.0.self_attn.o_proj", 256, 256, 4);
    const auto plain = read(
        writer,
        R"({"r":2,"lora_alpha":8,"rank_pattern":{"o_proj":4},"alpha_pattern":{"layers\\.\\d+\\.self_attn\\.q_.*":6}})");
    ASSERT_TRUE(plain) << plain.error().message;
    EXPECT_EQ(plain->adapter.updates[0].scale, 3.0f);
    EXPECT_EQ(plain->adapter.updates[1].scale, 2.0f);
    const auto stable = read(writer, R"({"r":2,"lora_alpha":8,"use_rslora":true,"rank_pattern":{"^model.*o_proj":4}})");
    ASSERT_TRUE(stable) << stable.error().message;
    EXPECT_EQ(stable->adapter.updates[0].scale, 8 / std::sqrt(2.0f));
    EXPECT_EQ(stable->adapter.updates[1].scale, 4.0f);
    expect_refused(read(writer), "o_proj");  // its rank is not the one the configuration gives
    expect_refused(read(writer, R"({"r":2,"lora_alpha":8,"rank_pattern":{"(o_proj":4}})"), "'(o_proj'");
}

TEST_F(ReadAdapterTest, ReadsEmbeddingAndHead) {
    const uint64_t vocabulary = e2b->config->vocabulary;
    SafeTensorsWriter writer;
    add(writer, "base_model.model.model.language_model.embed_tokens.lora_embedding_A", {2, vocabulary});
    add(writer, "base_model.model.model.language_model.embed_tokens.lora_embedding_B", {256, 2});
    add_pair(writer, "lm_head", 256, vocabulary);
    const auto adapter = read(writer);
    ASSERT_TRUE(adapter) << adapter.error().message;
    EXPECT_EQ(adapter->adapter.updates[0].target, Target::token_embd);
    EXPECT_EQ(adapter->adapter.updates[0].in, vocabulary);
    EXPECT_EQ(adapter->adapter.updates[1].target, Target::output);
    EXPECT_EQ(adapter->adapter.updates[1].out, vocabulary);
}

TEST_F(ReadAdapterTest, RefusesByNameWhatItCannotDo) {
    const auto with = [&](const std::string& name) {
        SafeTensorsWriter writer;
        add_pair(writer, kQ, 256, 256);
        add(writer, name, {2, 256});
        return read(writer);
    };
    expect_refused(with("base_model.model.model.vision_tower.encoder.layers.0.self_attn.q_proj.linear.lora_A.weight"),
                   "vision tower");
    expect_refused(with("base_model.model.model.language_model.layers.0.self_attn.q_proj.lora_magnitude_vector"),
                   "DoRA");
    expect_refused(with("base_model.model.model.layers.0.mlp.down_proj.ia3_l"), "IA3");
    expect_refused(with("base_model.model.lm_head.modules_to_save.weight"), "modules_to_save");
    expect_refused(with("base_model.model.model.layers.0.router.proj.lora_A.weight"), "router");
    expect_refused(with("model.layers.0.self_attn.q_proj.lora_a"), "MLX");
    expect_refused(with("base_model.model.model.layers.0.mlp.q_proj.lora_A.weight"), "q_proj");
    expect_refused(with("base_model.model.model.layers.01.self_attn.q_proj.lora_A.weight"), "layers.01");
    SafeTensorsWriter writer;
    add_pair(writer, kQ, 256, 256);
    expect_refused(read(writer, R"({"peft_type":"IA3","r":2,"lora_alpha":8})"), "IA3");
    expect_refused(read(writer, R"({"r":2,"lora_alpha":8,"use_dora":true})"), "DoRA");
    expect_refused(read(writer, R"({"r":2,"lora_alpha":8,"bias":"all"})"), "bias");
    expect_refused(read(writer, R"({"r":2,"lora_alpha":8,"modules_to_save":["lm_head"]})"), "modules_to_save");
    expect_refused(read(writer, R"({"r":2})"), "lora_alpha");
    expect_refused(read(writer, R"({"r":2,"lora_alpha":-1})"), "lora_alpha");
    expect_refused(read(writer, R"({"r":257,"lora_alpha":8})"), "rank");
    expect_refused(read(writer, ""), "adapter_config.json");
    expect_refused(read(writer, "[]"), "adapter_config.json");
    EXPECT_TRUE(read(writer, R"({"r":2,"lora_alpha":8,"bias":"none","use_dora":false,"modules_to_save":null})"));
}

TEST_F(ReadAdapterTest, RefusesWhatDoesNotFitTheModel) {
    SafeTensorsWriter wide;
    add_pair(wide, kQ, 512, 256);
    expect_refused(read(wide), "lora_A");
    SafeTensorsWriter tall;
    add_pair(tall, kQ, 256, 512);
    expect_refused(read(tall), "lora_B");
    SafeTensorsWriter alone;
    add(alone, std::string("base_model.model.") + kQ + ".lora_A.weight", {2, 256});
    expect_refused(read(alone), "partner");
    SafeTensorsWriter uneven;
    add(uneven, std::string("base_model.model.") + kQ + ".lora_A.weight", {2, 256});
    add(uneven, std::string("base_model.model.") + kQ + ".lora_B.weight", {256, 3});
    expect_refused(read(uneven), "rank 3");
    SafeTensorsWriter twice;
    add_pair(twice, kQ, 256, 256);
    add(twice, "base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight", {2, 256});
    expect_refused(read(twice), "the same matrix");
    SafeTensorsWriter far;
    add_pair(far, "model.layers.99.self_attn.q_proj", 256, 256);
    expect_refused(read(far), "layer 99");
    SafeTensorsWriter strong;
    add_pair(strong, kQ, 256, 256, 257);
    expect_refused(read(strong), "rank 257");
    SafeTensorsWriter none;
    add_pair(none, kQ, 256, 256, 0);
    expect_refused(read(none), "rank 0");
    expect_refused(read(SafeTensorsWriter()), "nothing");
    for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
        SafeTensorsWriter broken;
        add(broken, std::string("base_model.model.") + kQ + ".lora_A.weight", {2, 256});
        add(broken, std::string("base_model.model.") + kQ + ".lora_B.weight", {256, 2}, bad);
        expect_refused(read(broken), "q_proj.lora_B");
    }
    expect_refused(read_adapter(Bytes{1, 2, 3}, {}, *e2b->table), "no adapter");
}

TEST_F(ReadAdapterTest, LeavesOutKeysOfLayersThatUseADonors) {
    const auto last = std::to_string(e2b->config->layers.size() - 1);
    SafeTensorsWriter writer;
    add_pair(writer, kQ, 256, 256);
    add_pair(writer, "model.layers." + last + ".self_attn.k_proj", 256, 64);
    const auto adapter = read(writer);
    ASSERT_TRUE(adapter) << adapter.error().message;
    EXPECT_EQ(adapter->adapter.updates.size(), 1u);
    EXPECT_EQ(adapter->ignored.size(), 2u);
    // Where the values are the keys there is no such matrix at all.
    SafeTensorsWriter values;
    add_pair(values, "model.layers.2.self_attn.v_proj", 256, 128);
    expect_refused(read(values, kConfig, *large), "blk.2.attn_v");
}

TEST_F(ReadAdapterTest, ReadsRullama) {
    const uint64_t vocabulary = e2b->config->vocabulary;
    SafeTensorsWriter writer;
    writer.set_metadata("format", "rullama-lora-v0");
    writer.set_metadata("rank", "2");
    writer.set_metadata("alpha", "4");
    add(writer, "lora.blk.1.attn_q.A", {2, 256});
    add(writer, "lora.blk.1.attn_q.B", {256, 2});
    add(writer, "lora.blk.0.attn_o.A", {2, 256});
    add(writer, "lora.blk.0.attn_o.B", {256, 2});
    add(writer, "lora.blk.0.embed_tokens.A", {2, 256}, 3);
    add(writer, "lora.blk.0.embed_tokens.B", {vocabulary, 2}, 5);
    const auto adapter = read_adapter(writer.file(), {}, *e2b->table);
    ASSERT_TRUE(adapter) << adapter.error().message;
    EXPECT_EQ(adapter->format, AdapterFormat::rullama);
    ASSERT_EQ(adapter->adapter.updates.size(), 3u);
    EXPECT_EQ(adapter->adapter.updates[0].target, Target::o);
    EXPECT_EQ(adapter->adapter.updates[0].scale, 2.0f);
    // Written as a matrix from width to vocabulary: the product is the same from the other side.
    EXPECT_EQ(adapter->adapter.updates[1].target, Target::token_embd);
    EXPECT_EQ(adapter->adapter.updates[1].in, vocabulary);
    EXPECT_EQ(adapter->adapter.updates[1].a[0], 5.0f);
    EXPECT_EQ(adapter->adapter.updates[1].b[0], 3.0f);
    writer.add("lora.blk.0.tail", {}, std::vector<float>{1});
    expect_refused(read_adapter(writer.file(), {}, *e2b->table), "lora.blk.0.tail");
}

Bytes gguf_file(const gguf::Writer& writer) {
    const auto layout = writer.layout();
    EXPECT_TRUE(layout) << layout.error().message;
    Bytes out = layout->header;
    out.resize(size_t(layout->file_size));  // every value is 0
    return out;
}

gguf::Writer gguf_adapter() {
    gguf::Writer writer;
    writer.set_string("general.architecture", "gemma4");
    writer.set_string("general.type", "adapter");
    writer.set_string("adapter.type", "lora");
    writer.set_f32("adapter.lora.alpha", 16);
    writer.add_tensor("blk.0.attn_q.weight.lora_a", TensorType::f16, {256, 32});
    writer.add_tensor("blk.0.attn_q.weight.lora_b", TensorType::q8_0, {32, 256});
    return writer;
}

TEST_F(ReadAdapterTest, ReadsGgufOfEveryTypeAndItsRules) {
    gguf::Writer writer = gguf_adapter();
    writer.add_tensor("blk.1.ffn_up.weight.lora_a", TensorType::bf16, {256, 4});
    writer.add_tensor("blk.1.ffn_up.weight.lora_b", TensorType::f32, {4, 512});
    writer.add_tensor("blk.0.attn_norm.weight", TensorType::f32, {256});
    const auto adapter = read_adapter(gguf_file(writer), {}, *e2b->table);
    ASSERT_TRUE(adapter) << adapter.error().message;
    EXPECT_EQ(adapter->format, AdapterFormat::gguf);
    ASSERT_EQ(adapter->adapter.updates.size(), 2u);
    EXPECT_EQ(adapter->adapter.updates[0].scale, 0.5f);  // by the rank of each
    EXPECT_EQ(adapter->adapter.updates[1].scale, 4.0f);
    EXPECT_EQ(adapter->ignored.size(), 1u);
    for (const bool missing : {true, false}) {
        gguf::Writer bare = gguf_adapter();
        if (missing) bare.remove("adapter.lora.alpha");
        if (!missing) bare.set_f32("adapter.lora.alpha", 0);
        const auto unscaled = read_adapter(gguf_file(bare), {}, *e2b->table);
        ASSERT_TRUE(unscaled) << unscaled.error().message;
        EXPECT_EQ(unscaled->adapter.updates[0].scale, 1.0f);
    }
}

TEST_F(ReadAdapterTest, RefusesOtherGgufFilesByName) {
    const auto refused = [&](std::string_view culprit, auto&& change) {
        gguf::Writer writer = gguf_adapter();
        change(writer);
        expect_refused(read_adapter(gguf_file(writer), {}, *e2b->table), culprit);
    };
    refused("'llama'", [](auto& w) { w.set_string("general.architecture", "llama"); });
    refused("not an adapter", [](auto& w) { w.set_string("general.type", "model"); });
    refused("'control_vector'", [](auto& w) { w.set_string("adapter.type", "control_vector"); });
    refused("aLoRA", [](auto& w) { w.set_u32s("adapter.alora.invocation_tokens", std::vector<uint32_t>{1}); });
    refused("ffn_gate_inp",
            [](auto& w) { w.add_tensor("blk.0.ffn_gate_inp.weight.lora_a", TensorType::f32, {256, 4}); });
    refused("Q4_0", [](auto& w) { w.add_tensor("blk.0.ffn_up.weight.lora_a", TensorType::q4_0, {256, 4}); });
    refused("no matrix", [](auto& w) { w.add_tensor("blk.0.ffn_up.weight.lora_a", TensorType::f32, {256, 4, 2}); });
    refused("partner", [](auto& w) { w.add_tensor("blk.0.ffn_up.weight.lora_a", TensorType::f32, {256, 4}); });
    Bytes cut = gguf_file(gguf_adapter());
    cut.resize(cut.size() / 2);
    EXPECT_FALSE(read_adapter(cut, {}, *e2b->table));
}

TEST(ModulePattern, MatchesAsTheConfigurationMeans) {
    const auto matches = [](std::string_view pattern, std::string_view name) {
        const auto result = matches_module(pattern, name);
        EXPECT_TRUE(result) << pattern;
        return result && *result;
    };
    constexpr std::string_view kName = "model.layers.12.self_attn.q_proj";
    EXPECT_TRUE(matches("q_proj", kName));
    EXPECT_TRUE(matches("self_attn.q_proj", kName));
    EXPECT_TRUE(matches("model.layers.12.self_attn.q_proj", kName));
    EXPECT_FALSE(matches("proj", kName));  // a whole part of the name
    EXPECT_FALSE(matches("self_attn", kName));
    EXPECT_FALSE(matches("layers.2.self_attn.q_proj", kName));
    EXPECT_TRUE(matches(R"(layers\.\d+\.self_attn\.(q|k)_proj)", kName));
    EXPECT_TRUE(matches(R"(layers\.(1[0-9]|2\d)\..*)", kName));
    EXPECT_FALSE(matches(R"(layers\.(0|1|2)\..*)", kName));
    EXPECT_TRUE(matches(".*q_proj", kName));
    EXPECT_TRUE(matches("^model.*self", kName));
    EXPECT_FALSE(matches("^layers", kName));
    EXPECT_TRUE(matches("(?:k_proj|q_proj)$", kName));
    EXPECT_TRUE(matches("[^k]_proj", kName));
    EXPECT_TRUE(matches("v?q_proj", kName));
    for (const char* pattern : {"(", "[a", "a{2}", "*", "\\", "(?=a)", "\\b"}) {
        EXPECT_FALSE(matches_module(pattern, kName)) << pattern;
    }
    // One that would take for ever is given up.
    EXPECT_FALSE(matches_module("(a*)*(a*)*(a*)*b", std::string(60, 'a')));
}

}  // namespace
}  // namespace lapidary::lora
