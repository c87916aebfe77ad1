#include "model/blueprint_gemma3.h"

#include <algorithm>
#include <cmath>

namespace lapidary::model {
namespace {

struct Gemma3Member {
    std::string_view name;     // as people ask for it
    std::string_view variant;  // as Config has it
    uint32_t layers, width, heads, kv_heads, head_dim, ffn, window, context, vocabulary;
    float rope_factor = 1;
    uint32_t dense_hidden = 0;  // of a model of embeddings
};

constexpr uint32_t kWords = 262144;
constexpr Gemma3Member kGemma3Family[] = {
    {"gemma3-270m", "270M", 18, 640, 4, 1, 256, 2048, 512, 32768, kWords},
    {"gemma3-1b", "1B", 26, 1152, 4, 1, 256, 6912, 512, 32768, kWords},
    {"gemma3-4b", "4B", 34, 2560, 8, 4, 256, 10240, 1024, 131072, kWords, 8},
    {"gemma3-12b", "12B", 48, 3840, 16, 8, 256, 15360, 1024, 131072, kWords, 8},
    {"gemma3-27b", "27B", 62, 5376, 32, 16, 128, 21504, 1024, 131072, kWords, 8},
    {"embeddinggemma", "EmbeddingGemma", 24, 768, 3, 1, 256, 1152, 512, 2048, kWords, 1, 3072},
    // Not published: the same features in a few megabytes.
    {"tiny-gemma3", "custom", 7, 256, 4, 1, 64, 512, 32, 4096, 640, 8},
    {"tiny-embedding", "custom embedding", 7, 192, 3, 1, 64, 320, 16, 2048, 640, 1, 384},
};

// 27B has the scale of width / heads; the others that of a head.
float scale_of(const Gemma3Member& member) {
    return 1 / std::sqrt(float(member.layers == 62 ? member.width / member.heads : member.head_dim));
}

bool same_gemma3_name(std::string_view a, std::string_view b) {
    const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c; };
    return std::ranges::equal(a, b, {}, lower, lower);
}

}  // namespace

std::optional<Config> gemma3_config(std::string_view variant) {
    const auto* const found = std::ranges::find_if(
        kGemma3Family, [&](const Gemma3Member& member) { return same_gemma3_name(member.name, variant); });
    if (found == std::end(kGemma3Family)) return std::nullopt;
    const Gemma3Member& member = *found;
    Config config;
    config.architecture = member.dense_hidden > 0 ? "gemma-embedding" : "gemma3";
    config.family = Family::gemma3;
    config.name = std::string(member.name);
    config.variant = std::string(member.variant);
    config.width = member.width;
    config.vocabulary = member.vocabulary;
    config.context_length = member.context;
    config.sliding_window = member.window;
    config.rotary_fraction_full = 1;
    config.rope_factor_full = member.rope_factor;
    config.attention_scale = scale_of(member);
    config.norms_values = false;
    config.logit_softcap = 0;
    if (member.dense_hidden > 0)
        config.embedding = EmbeddingConfig{.hidden = member.dense_hidden, .size = member.width};
    for (uint32_t i = 0; i < member.layers; ++i) {
        config.layers.push_back({.sliding = (i + 1) % 6 != 0,
                                 .heads = member.heads,
                                 .kv_heads = member.kv_heads,
                                 .head_dim = member.head_dim,
                                 .ffn = member.ffn,
                                 .kv_layer = i});
    }
    return config;
}

std::string gemma3_names() {
    std::string names;
    for (const Gemma3Member& member : kGemma3Family) names += (names.empty() ? "" : ", ") + std::string(member.name);
    return names;
}

void write_gemma3_metadata(const Config& config, gguf::Writer& writer) {
    const auto key = [&](const char* name) { return config.architecture + "." + name; };
    const LayerConfig& layer = config.layers.front();
    writer.set_string("general.architecture", config.architecture);
    writer.set_string("general.name", config.name);
    writer.set_u32(key("block_count"), uint32_t(config.layers.size()));
    writer.set_u32(key("context_length"), config.context_length);
    writer.set_u32(key("embedding_length"), config.width);
    writer.set_u32(key("feed_forward_length"), layer.ffn);
    writer.set_u32(key("attention.head_count"), layer.heads);
    writer.set_u32(key("attention.head_count_kv"), layer.kv_heads);
    writer.set_u32(key("attention.key_length"), layer.head_dim);
    writer.set_u32(key("attention.value_length"), layer.head_dim);
    writer.set_f32(key("attention.layer_norm_rms_epsilon"), config.norm_epsilon);
    writer.set_u32(key("attention.sliding_window"), config.sliding_window);
    writer.set_f32(key("rope.freq_base"), config.rope_base_full);
    writer.set_f32(key("rope.freq_base_swa"), config.rope_base_sliding);
    if (config.rope_factor_full != 1) {
        writer.set_string(key("rope.scaling.type"), "linear");
        writer.set_f32(key("rope.scaling.factor"), config.rope_factor_full);
    }
    if (const auto& embedding = config.embedding) {
        writer.set_u32(key("pooling_type"), 1);
        writer.set_u32(key("dense_2_feat_in"), config.width);
        writer.set_u32(key("dense_2_feat_out"), embedding->hidden);
        writer.set_u32(key("dense_3_feat_in"), embedding->hidden);
        writer.set_u32(key("dense_3_feat_out"), embedding->size);
    }
}

}  // namespace lapidary::model
