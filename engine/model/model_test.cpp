// Configurations and weight tables: the published family, both dialects, and everything that must be refused.
#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "gguf/writer.h"
#include "model/blueprint.h"
#include "model/config.h"
#include "model/memory.h"
#include "model/weights.h"

namespace lapidary::model {
namespace {

// A file as its header alone: what it says, without its bytes.
struct Draft {
    gguf::Writer metadata;
    std::vector<TensorBlueprint> tensors;
    std::set<std::string> quantized = {};  // names stored as Q4_K; the others are F32

    [[nodiscard]] TensorBlueprint& tensor(std::string_view name) {
        return *std::ranges::find(tensors, name, &TensorBlueprint::name);
    }
    void drop(std::string_view name) {
        std::erase_if(tensors, [&](const auto& tensor) { return tensor.name == name; });
    }
    [[nodiscard]] gguf::Header header() const {
        gguf::Writer writer = metadata;
        for (const TensorBlueprint& tensor : tensors) {
            writer.add_tensor(tensor.name, quantized.contains(tensor.name) ? TensorType::q4_k : TensorType::f32,
                              std::span<const uint64_t>(tensor.ne));
        }
        const auto layout = writer.layout();
        EXPECT_TRUE(layout) << layout.error().message;
        const auto parsed = gguf::parse_header(std::make_shared<Bytes>(layout->header), layout->file_size);
        EXPECT_TRUE(parsed) << parsed.error().message;
        return std::get<gguf::Header>(*parsed);
    }
};

Draft draft(std::string_view variant, BlueprintOptions options = {}) {
    const Config config = *family_config(variant);
    Draft out{.metadata = {}, .tensors = list_tensors(config, options)};
    write_metadata(config, out.metadata);
    return out;
}

Result<WeightTable> weights_of(const gguf::Header& header) {
    const Config config = TRY(read_config(header));
    return find_weights(config, [&](std::string_view name) { return header.find_tensor(name); });
}

struct Published {
    const char* variant;
    size_t tensors;
    uint64_t parameters;
    bool unused_shared_kv;
};

// Counts that loaders of the real files print.
constexpr Published kPublished[] = {
    {"E2B", 601, 4'647'450'147, true},
    {"E4B", 720, 7'518'069'290, true},
    {"12B", 667, 11'907'350'576, false},
    {"26B-A4B", 658, 25'233'142'046, false},
    {"diffusion-26B-A4B", 692, 25'250'987'068, false},
    {"31B", 833, 30'697'345'596, false},
};

TEST(Family, ReadsBackEveryMemberWithItsPublishedCounts) {
    for (const Published& member : kPublished) {
        SCOPED_TRACE(member.variant);
        const Draft file = draft(member.variant, {.unused_shared_kv = member.unused_shared_kv});
        EXPECT_EQ(file.tensors.size(), member.tensors);
        const gguf::Header header = file.header();
        uint64_t parameters = 0;
        for (const gguf::TensorInfo& tensor : header.tensors) parameters += tensor.elements();
        EXPECT_EQ(parameters, member.parameters);

        const auto config = read_config(header);
        ASSERT_TRUE(config) << config.error().message;
        const Config expected = *family_config(member.variant);
        EXPECT_EQ(config->variant, member.variant);
        ASSERT_EQ(config->layers.size(), expected.layers.size());
        for (size_t i = 0; i < expected.layers.size(); ++i) {
            EXPECT_EQ(config->layers[i].kv_layer, expected.layers[i].kv_layer) << "layer " << i;
            EXPECT_EQ(config->layers[i].sliding, expected.layers[i].sliding) << "layer " << i;
            EXPECT_EQ(config->layers[i].ffn, expected.layers[i].ffn) << "layer " << i;
        }
        const auto weights = weights_of(header);
        ASSERT_TRUE(weights) << weights.error().message;
    }
}

TEST(Family, KnowsWhichLayersShareAndWhichTakeValuesFromKeys) {
    const auto e2b = *weights_of(draft("E2B", {.unused_shared_kv = true}).header());
    EXPECT_TRUE(e2b.layers[14].attn_k.present());
    EXPECT_FALSE(e2b.layers[15].attn_k.present());  // in the file, and ignored
    EXPECT_EQ(family_config("E2B")->layers[15].kv_layer, 13u);
    EXPECT_EQ(family_config("E2B")->layers[19].kv_layer, 14u);
    EXPECT_EQ(family_config("E4B")->layers[41].kv_layer, 23u);
    const auto large = *weights_of(draft("31B").header());
    EXPECT_TRUE(large.layers[0].attn_v.present());
    EXPECT_FALSE(large.layers[5].attn_v.present());
    EXPECT_TRUE(weights_of(draft("26B-A4B").header())->layers[3].is_moe());
}

TEST(Family, CountsOnlyTheWeightsThatAreUsed) {
    EXPECT_EQ(weight_elements(*weights_of(draft("E2B", {.unused_shared_kv = true}).header())), 4'628'569'635u);
    EXPECT_EQ(weight_elements(*weights_of(draft("E4B").header())), 7'463'013'674u);
}

TEST(Memory, SlidingLayersCostTheirWindowOnly) {
    const Config config = *family_config("E2B");
    // 15 layers own K and V: 12 sliding with 256 numbers, 3 full with 512; keys and values; 2 bytes each.
    EXPECT_EQ(kv_bytes(config, 512, KvFormat::f16), uint64_t{512} * 2 * 2 * (12 * 256 + 3 * 512));
    EXPECT_EQ(kv_bytes(config, 131072, KvFormat::f16),
              uint64_t{2} * 2 * (uint64_t{12} * 256 * 512 + uint64_t{3} * 512 * 131072));
    EXPECT_EQ(kv_bytes_unwindowed(config, 1024), uint64_t{1024} * 2 * 4 * (12 * 256 + 3 * 512));
}

TEST(Memory, FormatsCostTheirNumbersAndTheirScales) {
    const Config config = *family_config("E2B");
    const uint64_t rows = uint64_t{512} * 2;
    EXPECT_EQ(kv_bytes(config, 512, KvFormat::f32), rows * 4 * (12 * 256 + 3 * 512));
    // One scale in 16 bytes a head.
    EXPECT_EQ(kv_bytes(config, 512, KvFormat::i16), rows * (2 * (12 * 256 + 3 * 512) + 16 * 15));
    // A half float for every 32 bytes.
    EXPECT_EQ(kv_bytes(config, 512, KvFormat::q8), rows * (12 * (256 + 16) + 3 * (512 + 32)));
}

TEST(Dialect, AcceptsOllamasNamesAndKeys) {
    Draft file = draft("26B-A4B");
    const std::pair<const char*, const char*> renames[] = {
        {"post_attention_norm.weight", "attn_post_norm.weight"},  {"ffn_norm.weight", "ffn_pre_norm.weight"},
        {"post_ffw_norm.weight", "ffn_post_norm.weight"},         {"layer_output_scale.weight", "layer_scalar"},
        {"ffn_down_exps.scale", "ffn_gate_inp.per_expert_scale"}, {"pre_ffw_norm_2.weight", "ffn_pre_norm_2.weight"},
        {"post_ffw_norm_1.weight", "ffn_post_norm_1.weight"},     {"post_ffw_norm_2.weight", "ffn_post_norm_2.weight"},
    };
    for (TensorBlueprint& tensor : file.tensors) {
        for (const auto& [ours, theirs] : renames) {
            const size_t at = tensor.name.find(ours);
            if (at != std::string::npos && tensor.name[at - 1] == '.')
                tensor.name.replace(at, std::string::npos, theirs);
        }
    }
    // Experts with gate and up apart.
    for (size_t i = 0; i < 30; ++i) {
        const std::string blk = "blk." + std::to_string(i) + ".";
        file.drop(blk + "ffn_gate_up_exps.weight");
        file.tensors.push_back({blk + "ffn_gate_exps.weight", {2816, 704, 128}});
        file.tensors.push_back({blk + "ffn_up_exps.weight", {2816, 704, 128}});
    }
    file.tensors.push_back({"v.patch_embd.weight", {16}});
    file.metadata.set_u32("gemma4.attention.head_count_kv", 8);
    file.metadata.set_u32("gemma4.attention.global_head_count_kv", 2);
    file.metadata.remove("gemma4.rope.freq_base_swa");
    file.metadata.set_f32("gemma4.rope.local.freq_base", 20000);
    const gguf::Header header = file.header();
    const auto weights = weights_of(header);
    ASSERT_TRUE(weights) << weights.error().message;
    EXPECT_EQ(weights->layers[7].expert_down_scale.name, "blk.7.ffn_gate_inp.per_expert_scale");
    EXPECT_TRUE(weights->layers[7].expert_gate.present());
    const Config config = *read_config(header);
    EXPECT_EQ(config.layers[5].kv_heads, 2u);
    EXPECT_EQ(config.layers[4].kv_heads, 8u);
    EXPECT_EQ(config.rope_base_sliding, 20000);
}

TEST(Config, AcceptsAPeriodInPlaceOfAPattern) {
    Draft file = draft("E2B");
    file.metadata.set_u32("gemma4.attention.sliding_window_pattern", 5);
    const Config config = *read_config(file.header());
    EXPECT_TRUE(config.layers[3].sliding);
    EXPECT_FALSE(config.layers[4].sliding);
}

struct Architecture {
    const char* name;
    const char* type;
    const char* words;
};

TEST(Config, RefusesEveryOtherArchitectureByName) {
    for (const auto& [name, type, words] : {
             Architecture{"gemma4-assistant", "model", "drafter (gemma4-assistant), which is not supported yet"},
             Architecture{"llama", "model", "this is a 'llama' model"},
             Architecture{"clip", "mmproj", "projector"},
             Architecture{"gemma4", "adapter", "LoRA adapter"},
         }) {
        Draft file = draft("E2B");
        file.metadata.set_string("general.architecture", name);
        file.metadata.set_string("general.type", type);
        const auto config = read_config(file.header());
        ASSERT_FALSE(config);
        EXPECT_EQ(config.error().code, Code::unsupported);
        EXPECT_NE(config.error().message.find(words), std::string::npos) << config.error().message;
    }
    Draft nameless = draft("E2B");
    nameless.metadata.remove("general.architecture");
    EXPECT_EQ(read_config(nameless.header()).error().code, Code::bad_file);
}

TEST(Config, RefusesAbsurdOrMissingNumbersAndNamesTheKey) {
    using Change = std::function<void(gguf::Writer&)>;
    const std::pair<const char*, Change> cases[] = {
        {"gemma4.block_count", [](auto& w) { w.remove("gemma4.block_count"); }},
        {"gemma4.block_count", [](auto& w) { w.set_u32("gemma4.block_count", 4'000'000'000u); }},
        {"gemma4.embedding_length", [](auto& w) { w.set_i32("gemma4.embedding_length", -1); }},
        {"gemma4.embedding_length", [](auto& w) { w.set_string("gemma4.embedding_length", "wide"); }},
        {"gemma4.context_length", [](auto& w) { w.set_u64("gemma4.context_length", ~0ull); }},
        {"gemma4.attention.sliding_window", [](auto& w) { w.set_u32("gemma4.attention.sliding_window", 0); }},
        {"gemma4.attention.head_count_kv",
         [](auto& w) { w.set_u32s("gemma4.attention.head_count_kv", std::vector<uint32_t>{1, 1}); }},
        {"8 query heads for 3 KV heads", [](auto& w) { w.set_u32("gemma4.attention.head_count_kv", 3); }},
        {"gemma4.feed_forward_length", [](auto& w) { w.set_string("gemma4.feed_forward_length", "x"); }},
        {"gemma4.attention.sliding_window_pattern",
         [](auto& w) { w.remove("gemma4.attention.sliding_window_pattern"); }},
        {"gemma4.attention.sliding_window_pattern",
         [](auto& w) { w.set_bools("gemma4.attention.sliding_window_pattern", {true, false}); }},
        {"gemma4.attention.shared_kv_layers", [](auto& w) { w.set_u32("gemma4.attention.shared_kv_layers", 35); }},
        {"no full layer before layer 1", [](auto& w) { w.set_u32("gemma4.attention.shared_kv_layers", 34); }},
        {"keys of 512 and values of 256", [](auto& w) { w.set_u32("gemma4.attention.value_length", 256); }},
        {"it must be even",
         [](auto& w) {
             w.set_u32("gemma4.attention.key_length", 511);
             w.set_u32("gemma4.attention.value_length", 511);
         }},
        {"gemma4.final_logit_softcapping", [](auto& w) { w.set_f32("gemma4.final_logit_softcapping", -3); }},
        {"gemma4.attention.layer_norm_rms_epsilon",
         [](auto& w) { w.set_f32("gemma4.attention.layer_norm_rms_epsilon", __builtin_nanf("")); }},
        {"gemma4.vocab_size", [](auto& w) { w.set_u32("gemma4.vocab_size", 0); }},
        {"no usable vocabulary", [](auto& w) { w.remove("gemma4.vocab_size"); }},
        {"gemma4.expert_used_count", [](auto& w) { w.set_u32("gemma4.expert_count", 8); }},
        {"suppress_tokens",
         [](auto& w) { w.set_i32s("tokenizer.ggml.suppress_tokens", std::vector<int32_t>{300000}); }},
    };
    for (const auto& [words, change] : cases) {
        SCOPED_TRACE(words);
        Draft file = draft("E2B");
        change(file.metadata);
        const auto config = read_config(file.header());
        ASSERT_FALSE(config);
        EXPECT_NE(config.error().message.find(words), std::string::npos) << config.error().message;
    }
}

TEST(Weights, RefusesWhatIsMissingAndNamesIt) {
    for (const char* name :
         {"token_embd.weight", "output_norm.weight", "per_layer_model_proj.weight", "blk.0.attn_norm.weight",
          "blk.14.attn_k.weight", "blk.14.attn_v.weight", "blk.34.ffn_down.weight", "blk.3.inp_gate.weight"}) {
        Draft file = draft("E2B");
        file.drop(name);
        const auto weights = weights_of(file.header());
        // Full layers may do without values of their own, so there a missing attn_v is not an error.
        if (std::string_view(name) == "blk.14.attn_v.weight") {
            EXPECT_TRUE(weights);
            continue;
        }
        ASSERT_FALSE(weights) << name;
        EXPECT_EQ(weights.error().code, Code::missing_tensor);
        EXPECT_NE(weights.error().message.find(name), std::string::npos) << weights.error().message;
    }
}

TEST(Weights, RefusesOtherShapesAndShowsBoth) {
    Draft file = draft("E2B");
    file.tensor("blk.2.ffn_up.weight").ne = {1536, 6143};
    const auto weights = weights_of(file.header());
    ASSERT_FALSE(weights);
    EXPECT_EQ(weights.error().code, Code::bad_shape);
    EXPECT_EQ(weights.error().message,
              "tensor 'blk.2.ffn_up.weight' has shape [1536, 6143]; the metadata asks for [1536, 6144]");
}

TEST(Weights, RefusesScalesItWouldIgnore) {
    Draft file = draft("E2B");
    file.tensors.push_back({"blk.2.ffn_up.scale", {1}});
    EXPECT_EQ(weights_of(file.header()).error().code, Code::unsupported);
}

TEST(Weights, MissingOutputScaleAndRopeFrequenciesAreFine) {
    Draft file = draft("E2B");
    file.drop("blk.2.layer_output_scale.weight");
    file.drop("rope_freqs.weight");
    const auto weights = weights_of(file.header());
    ASSERT_TRUE(weights) << weights.error().message;
    EXPECT_FALSE(weights->layers[2].layer_output_scale.present());
}

TEST(Weights, PromptsHaveTheirOwnOutputScaleWhereTheFileHasOne) {
    Draft file = draft("26B-A4B");
    file.tensors.push_back({"blk.2.enc_layer_output_scale.weight", {1}});
    const auto weights = weights_of(file.header());
    ASSERT_TRUE(weights) << weights.error().message;
    const LayerWeights& with = weights->layers[2];
    EXPECT_EQ(with.output_scale(Region::prompt).name, "blk.2.enc_layer_output_scale.weight");
    EXPECT_EQ(with.output_scale(Region::canvas).name, "blk.2.layer_output_scale.weight");
    const LayerWeights& without = weights->layers[3];
    EXPECT_EQ(without.output_scale(Region::prompt).name, "blk.3.layer_output_scale.weight");
    EXPECT_EQ(without.output_scale(Region::canvas).name, "blk.3.layer_output_scale.weight");
    size_t seen = 0;
    weights->for_each([&](const Weight& weight) { seen += size_t{weight.name.contains(".enc_layer_output_scale")}; });
    EXPECT_EQ(seen, 1u);
}

TEST(Diffusion, ReadsItsSettingsAndRefusesWrongOnes) {
    Draft file = draft("tiny-diffusion");
    file.metadata.remove("diffusion.eb_max_steps");
    file.metadata.set_f32("diffusion.eb_entropy_bound", 0.25f);
    const Config config = *read_config(file.header());
    ASSERT_TRUE(config.diffusion);
    EXPECT_EQ(config.diffusion->canvas, 16u);
    EXPECT_EQ(config.diffusion->settings.max_steps, 48u);
    EXPECT_EQ(config.diffusion->settings.entropy_bound, 0.25f);
    EXPECT_FLOAT_EQ(config.diffusion->settings.temperature(48), 0.8f);

    file.metadata.set_f32("diffusion.eb_t_min", 2);
    EXPECT_EQ(read_config(file.header()).error().code, Code::bad_file);
    Draft endless = draft("tiny-diffusion");
    endless.metadata.remove("diffusion.canvas_length");
    EXPECT_NE(read_config(endless.header()).error().message.find("diffusion.canvas_length"), std::string::npos);
    endless.metadata.set_u32("diffusion.canvas_length", 100000);
    EXPECT_EQ(read_config(endless.header()).error().code, Code::bad_file);
}

TEST(Diffusion, FindsItsWeightsInBothDialects) {
    Draft file = draft("tiny-diffusion");
    EXPECT_EQ(weights_of(file.header())->self_conditioning.norm.name, "self_cond_pre_norm.weight");
    file.tensor("self_cond_pre_norm.weight").name = "self_cond_norm.weight";
    const auto weights = *weights_of(file.header());
    EXPECT_EQ(weights.self_conditioning.norm.name, "self_cond_norm.weight");
    EXPECT_EQ(weights.layers[0].output_scale(Region::prompt).name, "blk.0.enc_layer_output_scale.weight");
    EXPECT_EQ(weights.layers[0].output_scale(Region::canvas).name, "blk.0.layer_output_scale.weight");
    file.drop("self_cond_down.weight");
    EXPECT_EQ(weights_of(file.header()).error().code, Code::missing_tensor);
}

}  // namespace
}  // namespace lapidary::model
