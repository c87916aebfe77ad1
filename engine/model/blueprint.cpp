#include "model/blueprint.h"

#include <algorithm>

#include "model/blueprint_gemma3.h"

namespace lapidary::model {
namespace {

// Sizes of everything in two shapes: as published, and small enough for a test.
struct Scale {
    uint32_t vocabulary, sliding_dim, full_dim;
};
constexpr Scale kPublished{262144, 256, 512};
constexpr Scale kTiny{512, 64, 128};

struct Member {
    std::string_view variant;
    Scale scale;
    uint32_t layers, period, width, heads, kv_sliding, kv_full, ffn, per_layer, shared, window, context;
    uint32_t wider_shared = 1;  // how many times wider the FFN of a layer that shares K and V is
    ExpertConfig experts = {};
    uint32_t canvas = 0;  // tokens of a canvas; 0: it writes token by token
};

// Every `period`-th layer attends to everything, the others slide.
constexpr Member kFamily[] = {
    {"E2B", kPublished, 35, 5, 1536, 8, 1, 1, 6144, 256, 20, 512, 131072, 2},
    {"E4B", kPublished, 42, 6, 2560, 8, 2, 2, 10240, 256, 18, 512, 131072},
    {"12B", kPublished, 48, 6, 3840, 16, 8, 1, 15360, 0, 0, 1024, 262144},
    {"26B-A4B", kPublished, 30, 6, 2816, 16, 8, 2, 2112, 0, 0, 1024, 262144, 1, {.count = 128, .used = 8, .ffn = 704}},
    {"diffusion-26B-A4B",
     kPublished,
     30,
     6,
     2816,
     16,
     8,
     2,
     2112,
     0,
     0,
     1024,
     262144,
     1,
     {.count = 128, .used = 8, .ffn = 704},
     256},
    {"31B", kPublished, 60, 6, 5376, 32, 16, 4, 21504, 0, 0, 1024, 262144},
    // Not published: the same features in a few megabytes.
    {"tiny-e2b", kTiny, 8, 4, 256, 4, 1, 1, 512, 64, 4, 32, 4096, 2},
    {"tiny-31b", kTiny, 6, 3, 256, 4, 2, 1, 768, 0, 0, 32, 4096},
    {"tiny-one", kTiny, 1, 1, 256, 2, 1, 1, 256, 0, 0, 32, 4096},
    {"tiny-wide", kTiny, 2, 2, 5120, 4, 2, 1, 4608, 0, 0, 32, 4096},
    {"tiny-moe", kTiny, 3, 3, 256, 4, 2, 1, 256, 0, 0, 32, 4096, 1, {.count = 8, .used = 2, .ffn = 256}},
    {"tiny-diffusion", kTiny, 3, 3, 256, 4, 2, 1, 256, 0, 0, 32, 4096, 1, {.count = 8, .used = 2, .ffn = 256}, 16},
};

bool same_letters(std::string_view a, std::string_view b) {
    const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c; };
    return std::ranges::equal(a, b, {}, lower, lower);
}

// Only the large models take their values from the keys, on full layers.
bool has_values(const Config& config, const LayerConfig& layer) {
    return layer.sliding || config.is_small() || config.family == Family::gemma3;
}

void list_layer(const Config& config, uint32_t index, BlueprintOptions options, std::vector<TensorBlueprint>& out) {
    const LayerConfig& layer = config.layers[index];
    const uint64_t d = config.width;
    const std::string blk = "blk." + std::to_string(index) + ".";
    const auto add = [&](const char* name, std::vector<uint64_t> ne) { out.push_back({blk + name, std::move(ne)}); };
    add("attn_norm.weight", {d});
    add("attn_q.weight", {d, layer.q_width()});
    add("attn_q_norm.weight", {layer.head_dim});
    if (config.owns_kv(index) || options.unused_shared_kv) {
        add("attn_k.weight", {d, layer.kv_width()});
        add("attn_k_norm.weight", {layer.head_dim});
        if (has_values(config, layer)) add("attn_v.weight", {d, layer.kv_width()});
    }
    add("attn_output.weight", {layer.q_width(), d});
    add("post_attention_norm.weight", {d});
    add("ffn_norm.weight", {d});
    add("ffn_gate.weight", {d, layer.ffn});
    add("ffn_up.weight", {d, layer.ffn});
    add("ffn_down.weight", {layer.ffn, d});
    add("post_ffw_norm.weight", {d});
    if (config.family == Family::gemma4) add("layer_output_scale.weight", {1});
    if (config.diffusion) add("enc_layer_output_scale.weight", {1});
    if (const uint64_t p = config.per_layer_width; p > 0) {
        add("inp_gate.weight", {d, p});
        add("proj.weight", {p, d});
        add("post_norm.weight", {d});
    }
    if (const ExpertConfig& moe = config.experts; moe.count > 0) {
        add("ffn_gate_inp.weight", {d, moe.count});
        add("ffn_gate_inp.scale", {d});
        add("ffn_gate_up_exps.weight", {d, uint64_t{2} * moe.ffn, moe.count});
        add("ffn_down_exps.weight", {moe.ffn, d, moe.count});
        add("ffn_down_exps.scale", {moe.count});
        add("pre_ffw_norm_2.weight", {d});
        add("post_ffw_norm_1.weight", {d});
        add("post_ffw_norm_2.weight", {d});
    }
}

}  // namespace

Result<Config> family_config(std::string_view variant) {
    if (auto gemma3 = gemma3_config(variant)) return *std::move(gemma3);
    const auto* const found =
        std::ranges::find_if(kFamily, [&](const Member& member) { return same_letters(member.variant, variant); });
    if (found == std::end(kFamily)) {
        std::string names;
        for (const Member& member : kFamily) names += (names.empty() ? "" : ", ") + std::string(member.variant);
        return fail(Code::not_found, "there is no Gemma '{}'; there are {}, {}", printable(variant), names,
                    gemma3_names());
    }
    const Member& member = *found;
    Config config;
    config.name = "Gemma 4 " + std::string(member.variant);
    if (member.canvas > 0) {
        config.name = std::string(member.variant);
        config.architecture = "diffusion-gemma";
        config.diffusion = DiffusionConfig{.canvas = member.canvas};
    }
    config.variant = std::string(member.variant);
    config.width = member.width;
    config.vocabulary = member.scale.vocabulary;
    config.context_length = member.context;
    config.sliding_window = member.window;
    config.per_layer_width = member.per_layer;
    config.shared_kv_layers = member.shared;
    config.experts = member.experts;
    const uint32_t owners = member.layers - member.shared;
    for (uint32_t i = 0; i < member.layers; ++i) {
        const bool sliding = i % member.period != member.period - 1;
        // The last owner is a full layer and the one before it slides: those two are the donors.
        const uint32_t donor = sliding ? owners - 2 : owners - 1;
        config.layers.push_back({.sliding = sliding,
                                 .heads = member.heads,
                                 .kv_heads = sliding ? member.kv_sliding : member.kv_full,
                                 .head_dim = sliding ? member.scale.sliding_dim : member.scale.full_dim,
                                 .ffn = i < owners ? member.ffn : member.wider_shared * member.ffn,
                                 .kv_layer = i < owners ? i : donor});
    }
    return config;
}

std::vector<TensorBlueprint> list_tensors(const Config& config, BlueprintOptions options) {
    std::vector<TensorBlueprint> out;
    const uint64_t d = config.width;
    const uint64_t p = config.per_layer_width;
    const uint64_t all_p = p * config.layers.size();
    out.push_back({"token_embd.weight", {d, config.vocabulary}});
    out.push_back({"output_norm.weight", {d}});
    if (const auto& embedding = config.embedding) {
        out.push_back({"dense_2.weight", {d, embedding->hidden}});
        out.push_back({"dense_3.weight", {embedding->hidden, embedding->size}});
    }
    if (config.diffusion) {
        const uint64_t ffn = config.layers.front().ffn;
        out.push_back({"self_cond_pre_norm.weight", {d}});
        out.push_back({"self_cond_gate.weight", {d, ffn}});
        out.push_back({"self_cond_up.weight", {d, ffn}});
        out.push_back({"self_cond_down.weight", {ffn, d}});
    }
    for (const LayerConfig& layer : config.layers) {
        if (layer.sliding || config.family == Family::gemma3) continue;
        out.push_back({"rope_freqs.weight", {layer.head_dim / 2}});
        break;
    }
    if (p > 0) {
        out.push_back({"per_layer_token_embd.weight", {all_p, config.vocabulary}});
        out.push_back({"per_layer_model_proj.weight", {d, all_p}});
        out.push_back({"per_layer_proj_norm.weight", {p}});
    }
    for (uint32_t i = 0; i < config.layers.size(); ++i) list_layer(config, i, options, out);
    return out;
}

void write_metadata(const Config& config, gguf::Writer& writer) {
    if (config.family == Family::gemma3) return write_gemma3_metadata(config, writer);
    const auto key = [&](const char* name) { return config.architecture + "." + name; };
    std::vector<uint32_t> kv_heads;
    std::vector<uint32_t> ffn;
    std::vector<bool> sliding;
    uint32_t full_dim = 0;
    uint32_t sliding_dim = 0;
    for (const LayerConfig& layer : config.layers) {
        kv_heads.push_back(layer.kv_heads);
        ffn.push_back(layer.ffn);
        sliding.push_back(layer.sliding);
        (layer.sliding ? sliding_dim : full_dim) = layer.head_dim;
    }
    if (sliding_dim == 0) sliding_dim = full_dim;  // both are always told
    writer.set_string("general.architecture", config.architecture);
    writer.set_string("general.name", config.name);
    writer.set_u32(key("block_count"), uint32_t(config.layers.size()));
    writer.set_u32(key("context_length"), config.context_length);
    writer.set_u32(key("embedding_length"), config.width);
    writer.set_u32(key("vocab_size"), config.vocabulary);
    writer.set_u32s(key("feed_forward_length"), ffn);
    writer.set_u32(key("attention.head_count"), config.layers.front().heads);
    writer.set_u32s(key("attention.head_count_kv"), kv_heads);
    writer.set_u32(key("attention.key_length"), full_dim);
    writer.set_u32(key("attention.value_length"), full_dim);
    writer.set_u32(key("attention.key_length_swa"), sliding_dim);
    writer.set_u32(key("attention.value_length_swa"), sliding_dim);
    writer.set_f32(key("attention.layer_norm_rms_epsilon"), config.norm_epsilon);
    writer.set_u32(key("attention.sliding_window"), config.sliding_window);
    writer.set_bools(key("attention.sliding_window_pattern"), sliding);
    writer.set_u32(key("attention.shared_kv_layers"), config.shared_kv_layers);
    writer.set_u32(key("embedding_length_per_layer_input"), config.per_layer_width);
    writer.set_f32(key("rope.freq_base"), config.rope_base_full);
    writer.set_f32(key("rope.freq_base_swa"), config.rope_base_sliding);
    writer.set_u32(key("rope.dimension_count"), full_dim);
    writer.set_u32(key("rope.dimension_count_swa"), sliding_dim);
    writer.set_f32(key("final_logit_softcapping"), config.logit_softcap);
    if (config.experts.count > 0) {
        writer.set_u32(key("expert_count"), config.experts.count);
        writer.set_u32(key("expert_used_count"), config.experts.used);
        writer.set_u32(key("expert_feed_forward_length"), config.experts.ffn);
    }
    if (!config.diffusion) return;
    const CanvasSettings& s = config.diffusion->settings;
    writer.set_bool(key("attention.causal"), false);
    writer.set_u32("diffusion.canvas_length", config.diffusion->canvas);
    writer.set_u32("diffusion.eb_max_steps", s.max_steps);
    writer.set_f32("diffusion.eb_t_min", s.t_min);
    writer.set_f32("diffusion.eb_t_max", s.t_max);
    writer.set_f32("diffusion.eb_entropy_bound", s.entropy_bound);
    writer.set_u32("diffusion.eb_stability_threshold", s.stability_threshold);
    writer.set_f32("diffusion.eb_confidence_threshold", s.confidence_threshold);
}

}  // namespace lapidary::model
