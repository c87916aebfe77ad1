#include "model/weights.h"

#include <array>
#include <initializer_list>

#include "base/edition.h"

namespace lapidary::model {
namespace {

// A member of LayerWeights, so that tables can list them.
using LayerMember = Weight LayerWeights::*;

constexpr std::array kLayerMembers = {
    &LayerWeights::attn_norm,       &LayerWeights::attn_q,
    &LayerWeights::attn_k,          &LayerWeights::attn_v,
    &LayerWeights::attn_q_norm,     &LayerWeights::attn_k_norm,
    &LayerWeights::attn_output,     &LayerWeights::post_attention_norm,
    &LayerWeights::ffn_norm,        &LayerWeights::ffn_gate,
    &LayerWeights::ffn_up,          &LayerWeights::ffn_down,
    &LayerWeights::post_ffw_norm,   &LayerWeights::layer_output_scale,
    &LayerWeights::inp_gate,        &LayerWeights::proj,
    &LayerWeights::post_norm,       &LayerWeights::router,
    &LayerWeights::router_scale,    &LayerWeights::expert_gate_up,
    &LayerWeights::expert_gate,     &LayerWeights::expert_up,
    &LayerWeights::expert_down,     &LayerWeights::expert_down_scale,
    &LayerWeights::pre_ffw_norm_2,  &LayerWeights::post_ffw_norm_1,
    &LayerWeights::post_ffw_norm_2, &LayerWeights::encoder_output_scale,
};

std::string shape_text(std::span<const uint64_t> ne) {
    std::string out = "[";
    for (size_t i = 0; i < ne.size(); ++i) out += (i > 0 ? ", " : "") + std::to_string(ne[i]);
    return out + "]";
}

// Looks weights up and checks their shapes. `ne` is in file order: contiguous dimension first.
class Finder {
  public:
    Finder(const Config& config, const TensorLookup& lookup) : config_(config), lookup_(lookup) {}

    using Names = std::initializer_list<std::string_view>;
    using Shape = std::initializer_list<uint64_t>;

    Result<Weight> required(const std::string& prefix, Names names, Shape ne) const {
        Weight weight = TRY(optional(prefix, names, ne));
        if (!weight.present()) {
            return fail(Code::missing_tensor, "the file has no tensor '{}'", prefix + std::string(*names.begin()));
        }
        return weight;
    }

    // An empty weight when none of the names exists; an error when one does but with another shape.
    Result<Weight> optional(const std::string& prefix, Names names, Shape ne) const {
        for (const std::string_view name : names) {
            const std::string full = prefix + std::string(name);
            if (const gguf::TensorInfo* tensor = lookup_(full)) return checked(*tensor, ne);
        }
        return Weight{};
    }

    [[nodiscard]] bool exists(const std::string& name) const { return lookup_(name) != nullptr; }

    Result<LayerWeights> layer(uint32_t index) const {
        const LayerConfig& layer = config_.layers[index];
        const std::string blk = "blk." + std::to_string(index) + ".";
        const uint64_t d = config_.width;
        const uint64_t hd = layer.head_dim;
        TRY(refuse_scaled_weights(blk));
        LayerWeights out;
        out.attn_norm = TRY(required(blk, {"attn_norm.weight"}, {d}));
        out.attn_q = TRY(required(blk, {"attn_q.weight"}, {d, layer.q_width()}));
        out.attn_q_norm = TRY(required(blk, {"attn_q_norm.weight"}, {hd}));
        // Shared layers may carry K and V weights (older conversions do); they are never used.
        if (config_.owns_kv(index)) {
            out.attn_k = TRY(required(blk, {"attn_k.weight"}, {d, layer.kv_width()}));
            out.attn_k_norm = TRY(required(blk, {"attn_k_norm.weight"}, {hd}));
            out.attn_v = TRY(optional(blk, {"attn_v.weight"}, {d, layer.kv_width()}));
            if (!out.attn_v.present() && (layer.sliding || !config_.norms_values)) {
                return fail(Code::missing_tensor, "the file has no tensor '{}attn_v.weight'", blk);
            }
        }
        out.attn_output = TRY(required(blk, {"attn_output.weight"}, {layer.q_width(), d}));
        out.post_attention_norm = TRY(required(blk, {"post_attention_norm.weight", "attn_post_norm.weight"}, {d}));
        out.ffn_norm = TRY(required(blk, {"ffn_norm.weight", "ffn_pre_norm.weight"}, {d}));
        out.ffn_gate = TRY(required(blk, {"ffn_gate.weight"}, {d, layer.ffn}));
        out.ffn_up = TRY(required(blk, {"ffn_up.weight"}, {d, layer.ffn}));
        out.ffn_down = TRY(required(blk, {"ffn_down.weight"}, {layer.ffn, d}));
        out.post_ffw_norm = TRY(required(blk, {"post_ffw_norm.weight", "ffn_post_norm.weight"}, {d}));
        out.layer_output_scale = TRY(optional(blk, {"layer_output_scale.weight", "layer_scalar"}, {1}));
        out.encoder_output_scale = TRY(optional(blk, {"enc_layer_output_scale.weight"}, {1}));
        if (const uint64_t p = config_.per_layer_width; p > 0) {
            out.inp_gate = TRY(required(blk, {"inp_gate.weight"}, {d, p}));
            out.proj = TRY(required(blk, {"proj.weight"}, {p, d}));
            out.post_norm = TRY(required(blk, {"post_norm.weight"}, {d}));
        }
        if (exists(blk + "ffn_gate_inp.weight")) {
            if (!has_everything()) return fail(Code::needs_everything, "this is a mixture of experts");
            TRY(experts(blk, out));
        }
        return out;
    }

  private:
    Status experts(const std::string& blk, LayerWeights& out) const {
        const ExpertConfig& moe = config_.experts;
        const uint64_t d = config_.width;
        const uint64_t n = moe.count;
        if (n == 0)
            return fail(Code::bad_file, "'{}ffn_gate_inp.weight' is there, but {}.expert_count is not", blk,
                        config_.architecture);
        out.router = TRY(required(blk, {"ffn_gate_inp.weight"}, {d, n}));
        out.router_scale = TRY(required(blk, {"ffn_gate_inp.scale"}, {d}));
        out.expert_gate_up = TRY(optional(blk, {"ffn_gate_up_exps.weight"}, {d, uint64_t(2) * moe.ffn, n}));
        if (!out.expert_gate_up.present()) {
            out.expert_gate = TRY(required(blk, {"ffn_gate_exps.weight"}, {d, moe.ffn, n}));
            out.expert_up = TRY(required(blk, {"ffn_up_exps.weight"}, {d, moe.ffn, n}));
        }
        out.expert_down = TRY(required(blk, {"ffn_down_exps.weight"}, {moe.ffn, d, n}));
        out.expert_down_scale = TRY(required(blk, {"ffn_down_exps.scale", "ffn_gate_inp.per_expert_scale"}, {n}));
        out.pre_ffw_norm_2 = TRY(required(blk, {"pre_ffw_norm_2.weight", "ffn_pre_norm_2.weight"}, {d}));
        out.post_ffw_norm_1 = TRY(required(blk, {"post_ffw_norm_1.weight", "ffn_post_norm_1.weight"}, {d}));
        out.post_ffw_norm_2 = TRY(required(blk, {"post_ffw_norm_2.weight", "ffn_post_norm_2.weight"}, {d}));
        return {};
    }

    // NVFP4 files multiply the result of a linear layer with a scale of its own. Ignoring one would be silently wrong.
    Status refuse_scaled_weights(const std::string& blk) const {
        for (const char* name : {"attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down"}) {
            const std::string scale = blk + name + ".scale";
            if (exists(scale))
                return fail(Code::unsupported, "'{}' belongs to an NVFP4 model, which is not supported", scale);
        }
        return {};
    }

    static Result<Weight> checked(const gguf::TensorInfo& tensor, Shape ne) {
        std::array<uint64_t, gguf::kMaxDims> expected{1, 1, 1, 1};
        std::copy(ne.begin(), ne.end(), expected.begin());
        if (tensor.ne != expected) {
            return fail(Code::bad_shape, "tensor '{}' has shape {}; the metadata asks for {}", printable(tensor.name),
                        shape_text({tensor.ne.data(), std::max<size_t>(tensor.n_dims, 1)}),
                        shape_text({expected.data(), ne.size()}));
        }
        if (!tensor.type->decodable) {
            return fail(Code::unsupported,
                        "tensor '{}' is stored as {}, which is not supported: try a Q4_K_M or Q8_0 file",
                        printable(tensor.name), tensor.type->name);
        }
        return Weight{.name = std::string(tensor.name),
                      .type = TensorType(tensor.type->id),
                      .cols = tensor.ne[0],
                      .rows = tensor.ne[1],
                      .slices = tensor.ne[2]};
    }

    const Config& config_;
    const TensorLookup& lookup_;
};

}  // namespace

void WeightTable::for_each(const std::function<void(const Weight&)>& visit) const {
    const auto visit_present = [&](const Weight& weight) {
        if (weight.present()) visit(weight);
    };
    for (const Weight* weight :
         {&token_embd, &output, &output_norm, &rope_freqs, &per_layer_token_embd, &per_layer_model_proj,
          &per_layer_proj_norm, &dense.first, &dense.second, &self_conditioning.norm, &self_conditioning.gate,
          &self_conditioning.up, &self_conditioning.down}) {
        visit_present(*weight);
    }
    for (const LayerWeights& layer : layers) {
        for (const LayerMember member : kLayerMembers) visit_present(layer.*member);
    }
}

Result<WeightTable> find_weights(const Config& config, const TensorLookup& lookup) {
    const Finder find(config, lookup);
    const uint64_t d = config.width;
    const uint64_t vocabulary = config.vocabulary;
    const uint64_t p = config.per_layer_width;
    const uint64_t all_p = p * config.layers.size();
    WeightTable table;
    table.architecture = config.architecture;
    // Of Gemma 3 the larger ones, which see pictures, are parts of a class; the others are a class of their own.
    const bool is_part = config.variant == "4B" || config.variant == "12B" || config.variant == "27B";
    if (config.family == Family::gemma3 && !is_part) table.peft_prefix = "model.";
    table.token_embd = TRY(find.required("", {"token_embd.weight"}, {d, vocabulary}));
    table.output = TRY(find.optional("", {"output.weight"}, {d, vocabulary}));
    table.output_norm = TRY(find.required("", {"output_norm.weight", "norm.weight"}, {d}));
    if (const auto& embedding = config.embedding) {
        const uint64_t hidden = embedding->hidden;
        table.dense.first = TRY(find.required("", {"dense_2.weight", "dense.0.weight"}, {d, hidden}));
        table.dense.second = TRY(find.required("", {"dense_3.weight", "dense.1.weight"}, {hidden, embedding->size}));
    }
    if (config.diffusion) {
        const uint64_t ffn = config.layers.front().ffn;
        SelfConditioning& sc = table.self_conditioning;
        sc.norm = TRY(find.required("", {"self_cond_pre_norm.weight", "self_cond_norm.weight"}, {d}));
        sc.gate = TRY(find.required("", {"self_cond_gate.weight"}, {d, ffn}));
        sc.up = TRY(find.required("", {"self_cond_up.weight"}, {d, ffn}));
        sc.down = TRY(find.required("", {"self_cond_down.weight"}, {ffn, d}));
        table.peft_prefix = "model.decoder.";
    }
    for (const LayerConfig& layer : config.layers) {
        if (layer.sliding || config.family == Family::gemma3) continue;
        table.rope_freqs = TRY(find.optional("", {"rope_freqs.weight"}, {layer.head_dim / 2}));
        break;
    }
    if (p > 0) {
        table.per_layer_token_embd = TRY(find.required("", {"per_layer_token_embd.weight"}, {all_p, vocabulary}));
        table.per_layer_model_proj = TRY(find.required("", {"per_layer_model_proj.weight"}, {d, all_p}));
        table.per_layer_proj_norm = TRY(find.required("", {"per_layer_proj_norm.weight"}, {p}));
    }
    for (uint32_t i = 0; i < config.layers.size(); ++i) table.layers.push_back(TRY(find.layer(i)));
    return table;
}

}  // namespace lapidary::model
