// What files of the Gemma 3 family say: the published sizes, defaults, both dialects, and what is refused.
#include <gtest/gtest.h>

#include <cmath>

#include "model/blueprint.h"
#include "model/memory.h"
#include "model/synth.h"

namespace lapidary::model {
namespace {

struct Gemma3File {
    gguf::Writer metadata;
    std::vector<TensorBlueprint> tensors;

    [[nodiscard]] gguf::Header header() const {
        gguf::Writer writer = metadata;
        for (const TensorBlueprint& tensor : tensors) {
            writer.add_tensor(tensor.name, TensorType::f32, std::span<const uint64_t>(tensor.ne));
        }
        const auto layout = writer.layout();
        EXPECT_TRUE(layout) << layout.error().message;
        const auto parsed = gguf::parse_header(std::make_shared<Bytes>(layout->header), layout->file_size);
        EXPECT_TRUE(parsed) << parsed.error().message;
        return std::get<gguf::Header>(*parsed);
    }
    [[nodiscard]] std::string refusal() const {
        const auto config = read_config(header());
        return config ? "" : config.error().message;
    }
};

Gemma3File gemma3_file(std::string_view variant) {
    const Config config = *family_config(variant);
    Gemma3File out{.metadata = {}, .tensors = list_tensors(config, {})};
    write_metadata(config, out.metadata);
    return out;
}

// As a converter leaves it: without what readers know.
Gemma3File bare_file(uint32_t layers, uint32_t context) {
    Gemma3File out;
    out.metadata.set_string("general.architecture", "gemma3");
    out.metadata.set_u32("gemma3.block_count", layers);
    out.metadata.set_u32("gemma3.context_length", context);
    out.metadata.set_u32("gemma3.embedding_length", 128);
    out.metadata.set_u32("gemma3.feed_forward_length", 256);
    out.metadata.set_u32("gemma3.attention.head_count", 4);
    out.metadata.set_f32("gemma3.attention.layer_norm_rms_epsilon", 1e-6f);
    out.tensors = {{"token_embd.weight", {128, 300}}};
    return out;
}

TEST(Gemma3Config, ReadsBackEverySizeWithItsPublishedCounts) {
    struct Size {
        const char *name, *variant;
        size_t tensors;
        uint64_t parameters;
        size_t full_layers;
    };
    constexpr Size kSizes[] = {{"gemma3-270m", "270M", 236, 268'098'176, 3},
                               {"gemma3-1b", "1B", 340, 999'885'952, 4},
                               {"gemma3-4b", "4B", 444, 3'880'099'328, 5},
                               {"gemma3-12b", "12B", 626, 11'765'788'416, 8},
                               {"gemma3-27b", "27B", 808, 27'009'002'240, 10}};
    for (const Size& size : kSizes) {
        SCOPED_TRACE(size.name);
        const gguf::Header header = gemma3_file(size.name).header();
        EXPECT_EQ(header.tensors.size(), size.tensors);
        const Config config = *read_config(header);
        EXPECT_EQ(config.variant, size.variant);
        const auto full = std::ranges::count(config.layers, false, &LayerConfig::sliding);
        EXPECT_EQ(size_t(full), size.full_layers);
        const auto weights = find_weights(config, [&](std::string_view name) { return header.find_tensor(name); });
        ASSERT_TRUE(weights) << weights.error().message;
        EXPECT_EQ(weight_elements(*weights), size.parameters);
        const bool is_27b = config.variant == "27B";
        EXPECT_FLOAT_EQ(config.attention_scale, is_27b ? 1 / std::sqrt(168.0f) : 1.0f / 16);
        EXPECT_EQ(config.rope_factor_full, config.context_length > 100'000 ? 8 : 1);
        EXPECT_EQ(config.logit_softcap, 0);
        EXPECT_FALSE(config.norms_values);
    }
    const Config m270 = *family_config("gemma3-270m");
    EXPECT_EQ(kv_bytes(m270, 4096, KvFormat::f16), uint64_t{1024} * (3 * 4096 + 15 * 512));
    // Of embeddings one layer's, of whole texts.
    EXPECT_EQ(kv_bytes(*family_config("embeddinggemma"), 2048, KvFormat::f16), uint64_t{1024} * 2048);
}

TEST(Gemma3Config, KnowsWhatFilesLeaveOut) {
    Gemma3File file = bare_file(8, 32768);
    Config config = *read_config(file.header());
    EXPECT_EQ(config.vocabulary, 300u);
    EXPECT_EQ(config.layers[0].kv_heads, 4u);
    EXPECT_EQ(config.layers[0].head_dim, 32u);
    EXPECT_FALSE(config.layers[0].sliding) << "without a window nothing slides";
    EXPECT_EQ(config.rope_base_full, 1e6f);
    EXPECT_EQ(config.rope_base_sliding, 1e4f);
    file.metadata.set_u32("gemma3.attention.sliding_window", 64);
    config = *read_config(file.header());
    for (size_t i = 0; i < 8; ++i) EXPECT_EQ(config.layers[i].sliding, i != 5) << i;
    file.metadata.set_bools("gemma3.attention.sliding_window_pattern",
                            {false, true, true, true, true, true, true, false});
    config = *read_config(file.header());
    EXPECT_FALSE(config.layers[0].sliding);
    EXPECT_TRUE(config.layers[5].sliding);
    file.metadata.set_f32("gemma3.final_logit_softcapping", 20);
    EXPECT_EQ(read_config(file.header())->logit_softcap, 20);
}

TEST(Gemma3Config, DividesPositionsByEightInLongFilesOfOllama) {
    EXPECT_EQ(read_config(bare_file(8, 131072).header())->rope_factor_full, 1);
    const auto factor_with = [](auto&& change) {
        Gemma3File file = bare_file(8, 131072);
        change(file);
        return read_config(file.header())->rope_factor_full;
    };
    EXPECT_EQ(factor_with([](Gemma3File& f) { f.metadata.set_u32("gemma3.mm.tokens_per_image", 256); }), 8);
    EXPECT_EQ(factor_with([](Gemma3File& f) { f.metadata.set_f32("gemma3.rope.local.freq_base", 1e4f); }), 8);
    EXPECT_EQ(factor_with([](Gemma3File& f) { f.tensors.push_back({"v.patch.weight", {8}}); }), 8);
    EXPECT_EQ(factor_with([](Gemma3File& f) { f.metadata.set_bool("tokenizer.ggml.add_unknown_token", false); }), 8);
    EXPECT_EQ(factor_with([](Gemma3File& f) {
                  f.metadata.set_u32("gemma3.mm.tokens_per_image", 256);
                  f.metadata.set_f32("gemma3.rope.scaling.factor", 4);
              }),
              4);
    EXPECT_EQ(factor_with([](Gemma3File& f) { f.metadata.set_f32("gemma3.rope.scale_linear", 2); }), 2);
}

TEST(Gemma3Config, NeverWritesRowsThatStandForNoText) {
    Gemma3File file = gemma3_file("gemma3-4b");
    file.tensors[0].ne[1] = 262208;
    const Config config = *read_config(file.header());
    EXPECT_EQ(config.vocabulary, 262208u);
    EXPECT_EQ(config.suppress_tokens.size(), 64u);
    EXPECT_EQ(config.suppress_tokens.front(), 262144);
    Gemma3File cut = bare_file(2, 512);
    cut.metadata.set_strings("tokenizer.ggml.tokens", std::vector<std::string>(298, "x"));
    EXPECT_EQ(read_config(cut.header())->suppress_tokens, (std::vector<int32_t>{298, 299}));
}

TEST(Gemma3Config, RefusesWhatItWouldGetWrong) {
    Gemma3File file = bare_file(8, 32768);
    file.metadata.set_string("gemma3.rope.scaling.type", "yarn");
    EXPECT_NE(file.refusal().find("yarn"), std::string::npos);
    file = bare_file(8, 32768);
    file.metadata.set_u32("gemma3.attention.value_length", 16);
    EXPECT_NE(file.refusal().find("must be equal"), std::string::npos);
    file = bare_file(8, 32768);
    file.metadata.set_string("general.architecture", "gemma3n");
    EXPECT_NE(file.refusal().find("Gemma 3n"), std::string::npos);
    file = gemma3_file("tiny-embedding");
    std::erase_if(file.tensors, [](const TensorBlueprint& tensor) { return tensor.name.starts_with("dense"); });
    EXPECT_NE(file.refusal().find("dense"), std::string::npos);
    file = bare_file(8, 32768);
    file.metadata.set_bool("gemma3.attention.causal", false);
    EXPECT_NE(file.refusal().find("dense"), std::string::npos);
}

TEST(Gemma3Config, ReadsEmbeddingModelsOfBothDialects) {
    const Config config = *read_config(gemma3_file("embeddinggemma").header());
    ASSERT_TRUE(config.embedding);
    EXPECT_EQ(config.variant, "EmbeddingGemma");
    EXPECT_EQ(config.embedding->hidden, 3072u);
    EXPECT_EQ(config.embedding->size, 768u);
    EXPECT_EQ(config.embedding->pooling, Pooling::mean);
    Gemma3File old = bare_file(8, 2048);
    old.tensors.push_back({"dense.0.weight", {128, 512}});
    old.tensors.push_back({"dense.1.weight", {512, 128}});
    old.metadata.set_u32("gemma3.pooling_type", 3);
    const Config blob = *read_config(old.header());
    ASSERT_TRUE(blob.embedding);
    EXPECT_EQ(blob.embedding->hidden, 512u);
    EXPECT_EQ(blob.embedding->pooling, Pooling::last);
}

TEST(Gemma3Synth, MakesFilesThatAreReadAsWhatTheyWereMadeFor) {
    for (const char* variant : {"tiny-gemma3", "tiny-embedding", "gemma3-270m", "gemma3-27b"}) {
        for (const quant::Mix mix : {quant::Mix::q4_k_m, quant::Mix::q8_0, quant::Mix::f16}) {
            SCOPED_TRACE(variant);
            const auto plan = plan_synth(variant, mix);
            ASSERT_TRUE(plan) << plan.error().message;
            const auto parsed =
                gguf::parse_header(std::make_shared<Bytes>(plan->layout.header), plan->layout.file_size);
            ASSERT_TRUE(parsed) << parsed.error().message;
            const auto& header = std::get<gguf::Header>(*parsed);
            const auto config = read_config(header);
            ASSERT_TRUE(config) << config.error().message;
            EXPECT_EQ(config->vocabulary, plan->config.vocabulary);
            EXPECT_EQ(config->embedding.has_value(), plan->config.embedding.has_value());
            EXPECT_TRUE(find_weights(*config, [&](std::string_view name) { return header.find_tensor(name); }));
        }
    }
    // Rows of 640 are no multiple of 256, so the small model's matrices get formats with shorter blocks, as in the published file.
    const auto plan = *plan_synth("gemma3-270m", quant::Mix::q4_k_m);
    for (size_t i = 0; i < plan.tensors.size(); ++i) {
        if (plan.tensors[i].name == "token_embd.weight") EXPECT_EQ(plan.types[i], TensorType::q8_0);
        if (plan.tensors[i].name == "blk.0.attn_q.weight") EXPECT_EQ(plan.types[i], TensorType::q5_0);
        if (plan.tensors[i].name == "blk.0.attn_output.weight") EXPECT_EQ(plan.types[i], TensorType::q4_k);
    }
}

}  // namespace
}  // namespace lapidary::model
