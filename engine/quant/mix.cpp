#include "quant/mix.h"

#include <algorithm>
#include <array>
#include <optional>

namespace lapidary::quant {
namespace {

struct MixName {
    std::string_view name;
    Mix mix;
    TensorType base;     // what a matrix gets when no rule says otherwise
    uint32_t file_type;  // see file_type()
};

constexpr auto kMixes = std::to_array<MixName>({
    {"F32", Mix::f32, TensorType::f32, 0},
    {"F16", Mix::f16, TensorType::f16, 1},
    {"BF16", Mix::bf16, TensorType::bf16, 32},
    {"Q8_0", Mix::q8_0, TensorType::q8_0, 7},
    {"Q4_0", Mix::q4_0, TensorType::q4_0, 2},
    {"Q4_K_M", Mix::q4_k_m, TensorType::q4_k, 15},
});

const MixName& row_of(Mix mix) {
    return *std::ranges::find(kMixes, mix, &MixName::mix);  // every mix has a row
}

bool is_float(TensorType type) {
    return type == TensorType::f32 || type == TensorType::f16 || type == TensorType::bf16;
}

struct LayerTensor {
    uint64_t layer;
    std::string_view rest;
};

// "blk.12.ffn_down.weight" → 12, "ffn_down.weight".
std::optional<LayerTensor> split_layer(std::string_view name) {
    if (!name.starts_with("blk.")) return std::nullopt;
    name.remove_prefix(4);
    const size_t dot = name.find('.');
    if (dot == std::string_view::npos || dot == 0 || dot > 6) return std::nullopt;
    uint64_t layer = 0;
    for (const char c : name.substr(0, dot)) {
        if (c < '0' || c > '9') return std::nullopt;
        layer = layer * 10 + uint64_t(c - '0');
    }
    return LayerTensor{.layer = layer, .rest = name.substr(dot + 1)};
}

// The first and last eighth, and every third in between: where errors cost most.
bool use_more_bits(uint64_t i, uint64_t n) {
    return i < n / 8 || i >= 7 * n / 8 || (i - n / 8) % 3 == 2;
}

// Norms, scalars and the router: small enough to be kept exact, and always F32 in published files.
bool stays_exact(std::string_view name, size_t dimensions) {
    return dimensions < 2 || name.ends_with("_norm.weight") || name.ends_with("ffn_gate_inp.weight");
}

// Matrices that are not squeezed but keep the precision they came with. The encoders of images and sound are
// among them: they are small, and quantisation hurts them more than it saves.
bool stays_as_it_is(std::string_view name) {
    return !name.ends_with("weight") || name == "per_layer_model_proj.weight" || name.contains("position_embd") ||
           name.contains("patch_embd") || name.starts_with("v.") || name.starts_with("a.") || name.starts_with("mm.");
}

bool is_head(std::string_view name, bool tied) {
    if (name == "output.weight") return true;
    return tied && (name == "token_embd.weight" || name == "per_layer_token_embd.weight");
}

TensorType wanted_type(Mix mix, std::string_view name, const MixContext& context) {
    const TensorType base = row_of(mix).base;
    if (is_float(base)) return base;
    if (is_head(name, context.tied_head)) return base == TensorType::q8_0 ? base : TensorType::q6_k;
    if (mix != Mix::q4_k_m) return base;
    if (is_attn_v(name)) {
        return use_more_bits(context.attn_v_index, context.attn_v_total) ? TensorType::q6_k : base;
    }
    const auto in_layer = split_layer(name);
    if (in_layer && (in_layer->rest == "ffn_down.weight" || in_layer->rest == "ffn_down_exps.weight")) {
        return use_more_bits(in_layer->layer, context.n_layer) ? TensorType::q6_k : base;
    }
    return base;
}

bool divides(TensorType type, uint64_t row) {
    return row % tensor_type_info(type).block_elements == 0;
}

// Blocks of 256 do not divide every row. Blocks of 32 with a few more bits nearly always do.
TensorType fit_to_row(TensorType type, uint64_t row) {
    if (divides(type, row)) return type;
    if (type == TensorType::q4_k) type = TensorType::q5_0;
    if (type == TensorType::q6_k) type = TensorType::q8_0;
    return divides(type, row) ? type : TensorType::f16;
}

}  // namespace

Result<Mix> find_mix(std::string_view name) {
    for (const MixName& row : kMixes) {
        if (row.name == name) return row.mix;
    }
    return fail(Code::unsupported, "there is no quantisation '{}'; there are F32, F16, BF16, Q8_0, Q4_0 and Q4_K_M",
                printable(name));
}

uint32_t file_type(Mix mix) {
    return row_of(mix).file_type;
}

bool is_attn_v(std::string_view name) {
    const auto in_layer = split_layer(name);
    return in_layer && in_layer->rest == "attn_v.weight";
}

TensorType choose_type(Mix mix, std::string_view name, std::span<const uint64_t> ne, TensorType source,
                       const MixContext& context) {
    // GGUF writers may leave trailing ones in the shape; they do not make a vector a matrix.
    size_t dimensions = ne.size();
    while (dimensions > 0 && ne[dimensions - 1] == 1) --dimensions;
    if (stays_exact(name, dimensions)) return is_float(source) ? TensorType::f32 : source;
    if (stays_as_it_is(name)) return source;
    return fit_to_row(wanted_type(mix, name, context), ne[0]);
}

std::vector<TensorType> choose_types(Mix mix, std::span<const MixTensor> tensors, uint32_t n_layer) {
    MixContext context{.n_layer = n_layer};
    for (const MixTensor& tensor : tensors) {
        if (is_attn_v(tensor.name)) ++context.attn_v_total;
        if (tensor.name == "output.weight") context.tied_head = false;
    }
    std::vector<TensorType> types;
    types.reserve(tensors.size());
    for (const MixTensor& tensor : tensors) {
        types.push_back(choose_type(mix, tensor.name, tensor.ne, tensor.source, context));
        if (is_attn_v(tensor.name)) ++context.attn_v_index;
    }
    return types;
}

}  // namespace lapidary::quant
