#include "towers/finder.h"
#include "towers/read_towers.h"

namespace lapidary::towers {
namespace {

constexpr uint32_t kPatch = 16;
constexpr uint32_t kPooling = 3;
constexpr float kLayerNormEpsilon = 1e-5f;  // of gemma4uv; files do not say it
// Linears of a layer that have bounds, and bounds of a linear.
constexpr uint64_t kClippedLinears = 7;
constexpr uint64_t kBoundsEach = 4;

Status read_attention_sizes(const Keys& keys, VisionConfig& config) {
    config.layers = TRY(keys.integer("block_count", 1, kMaxLayers));
    config.width = TRY(keys.integer("embedding_length", 1, kMaxWidth));
    config.ffn = TRY(keys.integer("feed_forward_length", 1, kMaxWidth));
    config.heads = TRY(keys.integer("attention.head_count", 1, kMaxHeads));
    config.norm_epsilon = TRY(keys.number_or("attention.layer_norm_epsilon", 0, 1, 1e-6f));
    if (config.width % config.heads != 0 || config.width / config.heads % 4 != 0) {
        return fail(Code::bad_file,
                    "{} heads cannot share a width of {}: each needs the same number of elements, a multiple of 4",
                    config.heads, config.width);
    }
    config.head_dim = config.width / config.heads;
    return {};
}

// The bounds of all layers in one tensor, as Ollama packs them; the projection's are its last.
Status use_packed_bounds(Finder& find, VisionTable& table) {
    constexpr uint64_t kLayer = kClippedLinears * kBoundsEach;
    const std::string name = "v.clamp_data";
    if (!find.exists(name)) return {};
    const Weight packed = TRY(find.optional(name, {table.layers.size() * kLayer + kBoundsEach}));
    for (size_t i = 0; i < table.layers.size(); ++i) {
        VisionLayer& layer = table.layers[i];
        auto at = uint32_t(i * kLayer);
        for (Linear* linear : {&layer.q, &layer.k, &layer.v, &layer.out, &layer.gate, &layer.up, &layer.down}) {
            linear->packed = packed;
            linear->packed_at = at;
            at += kBoundsEach;
        }
    }
    table.projection.packed = packed;
    table.projection.packed_at = uint32_t(table.layers.size() * kLayer);
    return {};
}

Result<VisionLayer> read_layer(Finder& find, const VisionConfig& config, uint32_t index) {
    const std::string blk = "v.blk." + std::to_string(index) + ".";
    const uint64_t d = config.width;
    VisionLayer out;
    out.ln1 = TRY(find.required(blk + "ln1.weight", {d}));
    out.q = TRY(find.linear(blk + "attn_q", {d, d}));
    out.k = TRY(find.linear(blk + "attn_k", {d, d}));
    out.v = TRY(find.linear(blk + "attn_v", {d, d}));
    out.q_norm = TRY(find.required(blk + "attn_q_norm.weight", {config.head_dim}));
    out.k_norm = TRY(find.required(blk + "attn_k_norm.weight", {config.head_dim}));
    out.out = TRY(find.linear(blk + "attn_out", {d, d}));
    out.attn_post_norm = TRY(find.required(blk + "attn_post_norm.weight", {d}));
    out.ln2 = TRY(find.required(blk + "ln2.weight", {d}));
    out.gate = TRY(find.linear(blk + "ffn_gate", {d, config.ffn}));
    out.up = TRY(find.linear(blk + "ffn_up", {d, config.ffn}));
    out.down = TRY(find.linear(blk + "ffn_down", {config.ffn, d}));
    out.ffn_post_norm = TRY(find.required(blk + "ffn_post_norm.weight", {d}));
    out.out_scale = TRY(find.optional(blk + "out_scale.weight", {1}));
    return out;
}

Result<Weight> with_or_without_suffix(Finder& find, const std::string& name, uint64_t length) {
    return find.optional(find.exists(name) ? name : name + ".weight", {length});
}

Status read_transformer(Finder& find, VisionConfig& config, VisionTable& table) {
    const uint64_t d = config.width;
    const uint64_t patch = config.patch;
    table.patch_embd.weight = TRY(find.kernel("v.patch_embd.weight", {patch, patch, 3, d}));
    for (uint32_t i = 0; i < config.layers; ++i) table.layers.push_back(TRY(read_layer(find, config, i)));
    table.std_bias = TRY(with_or_without_suffix(find, "v.std_bias", d));
    table.std_scale = TRY(with_or_without_suffix(find, "v.std_scale", d));
    if (table.std_bias.present() != table.std_scale.present()) {
        return fail(Code::missing_tensor, "the file has only one of the tensors 'v.std_bias' and 'v.std_scale'");
    }
    return {};
}

Status read_embedder(Finder& find, const VisionConfig& config, VisionTable& table) {
    const uint64_t d = config.width;
    const uint64_t values = config.patch_values();
    table.patch_embd = TRY(find.affine("v.patch_embd", {values, d}, {d}));
    table.patch_norm[0] = TRY(find.affine("v.patch_norm.1", {values}, {values}));
    table.patch_norm[1] = TRY(find.affine("v.patch_norm.2", {d}, {d}));
    table.patch_norm[2] = TRY(find.affine("v.patch_norm.3", {d}, {d}));
    return {};
}

}  // namespace

Result<Vision> read_vision(VisionKind kind, const Keys& keys, const gguf::File& file) {
    Finder find(file);
    Vision out;
    VisionConfig& config = out.config;
    config.kind = kind;
    config.patch = TRY(keys.integer_or("patch_size", 1, kMaxPatch, kPatch));
    config.pooling = TRY(keys.integer_or("projector.scale_factor", 1, kMaxPooling, kPooling));
    if (kind == VisionKind::gemma4uv) {  // what would be pooled lies in one patch
        config.patch *= config.pooling;
        config.pooling = 1;
        config.norm_epsilon = kLayerNormEpsilon;
        config.width = TRY(find.dimension("v.patch_embd.weight", 1, kMaxWidth));
        TRY(read_embedder(find, config, out.table));
    } else {
        TRY(read_attention_sizes(keys, config));
        TRY(read_transformer(find, config, out.table));
    }
    config.positions = TRY(find.dimension("v.position_embd.weight", 1, 1 << 20));
    out.table.position_embd = TRY(find.required("v.position_embd.weight", {config.width, config.positions, 2}));
    config.output = TRY(find.dimension("mm.input_projection.weight", 1, kMaxWidth));
    out.table.projection = TRY(find.linear("mm.input_projection", {config.width, config.output}));
    TRY(use_packed_bounds(find, out.table));
    out.table.all = find.take_all();
    return out;
}

}  // namespace lapidary::towers
