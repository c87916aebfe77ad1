#include "lora/adapter.h"

#include <array>
#include <set>
#include <utility>

#include "quant/dot.h"

namespace lapidary::lora {
namespace {

struct TargetName {
    std::string_view name;
    Target target;
};

// Beside those of name_of().
constexpr auto kOtherNames = std::to_array<TargetName>({{"q_proj", Target::q},
                                                        {"k_proj", Target::k},
                                                        {"v_proj", Target::v},
                                                        {"o_proj", Target::o},
                                                        {"attn_o", Target::o},
                                                        {"gate_proj", Target::gate},
                                                        {"up_proj", Target::up},
                                                        {"down_proj", Target::down},
                                                        {"per_layer_input_gate", Target::inp_gate},
                                                        {"per_layer_projection", Target::proj},
                                                        {"embed_tokens", Target::token_embd},
                                                        {"lm_head", Target::output}});

// out[t, r] = dot(row r of m, x[t]) for every t: each row of the matrix is read once.
template <class Take>
void multiply(std::span<const float> m, size_t rows, size_t cols, std::span<const float> x, Take&& take) {
    const size_t tokens = x.size() / cols;
    for (size_t r = 0; r < rows; ++r) {
        const auto row = m.subspan(r * cols, cols);
        size_t t = 0;
        for (; t + 4 <= tokens; t += 4) {
            const float* first = x.data() + t * cols;
            std::array<float, 4> out;
            quant::dot4(row, {first, first + cols, first + 2 * cols, first + 3 * cols}, out);
            for (size_t i = 0; i < 4; ++i) take(t + i, r, out[i]);
        }
        for (; t < tokens; ++t) take(t, r, quant::dot(row, x.subspan(t * cols, cols)));
    }
}

}  // namespace

std::string_view name_of(Target target) {
    switch (target) {
        case Target::q: return "attn_q";
        case Target::k: return "attn_k";
        case Target::v: return "attn_v";
        case Target::o: return "attn_output";
        case Target::gate: return "ffn_gate";
        case Target::up: return "ffn_up";
        case Target::down: return "ffn_down";
        case Target::inp_gate: return "inp_gate";
        case Target::proj: return "proj";
        case Target::token_embd: return "token_embd";
        case Target::output: return "output";
    }
    return "";
}

const model::Weight* weight_of(const model::WeightTable& table, uint32_t layer, Target target) {
    const auto found = [](const model::Weight& weight) { return weight.present() ? &weight : nullptr; };
    if (target == Target::token_embd) return found(table.token_embd);
    if (target == Target::output) return found(table.head());
    if (layer >= table.layers.size()) return nullptr;
    const model::LayerWeights& w = table.layers[layer];
    switch (target) {
        case Target::q: return found(w.attn_q);
        case Target::k: return found(w.attn_k);
        case Target::v: return found(w.attn_v);
        case Target::o: return found(w.attn_output);
        case Target::gate: return found(w.ffn_gate);
        case Target::up: return found(w.ffn_up);
        case Target::down: return found(w.ffn_down);
        case Target::inp_gate: return found(w.inp_gate);
        case Target::proj: return found(w.proj);
        default: return nullptr;
    }
}

std::optional<Target> target_from(std::string_view name) {
    for (size_t i = 0; i < kTargets; ++i) {
        if (name_of(Target(i)) == name) return Target(i);
    }
    for (const TargetName& other : kOtherNames) {
        if (other.name == name) return other.target;
    }
    return std::nullopt;
}

bool in_layer(Target target) {
    return target != Target::token_embd && target != Target::output;
}

std::string label_of(uint32_t layer, Target target) {
    const std::string name(name_of(target));
    return in_layer(target) ? "blk." + std::to_string(layer) + "." + name : name;
}

std::optional<UpdateShape> shape_of(const model::WeightTable& table, uint32_t layer, Target target) {
    const model::Weight* weight = weight_of(table, layer, target);
    if (weight == nullptr) return std::nullopt;
    const UpdateShape shape{uint32_t(weight->cols), uint32_t(weight->rows)};
    return target == Target::token_embd ? UpdateShape{shape.out, shape.in} : shape;
}

Status check_fits(const Adapter& adapter, const model::WeightTable& table) {
    std::set<std::pair<uint32_t, Target>> seen;
    for (const Update& update : adapter.updates) {
        const std::string label = label_of(update);
        const auto shape = shape_of(table, update.layer, update.target);
        if (!shape) return fail(Code::invalid_argument, "the adapter changes '{}', which the model has not", label);
        if (update.in != shape->in || update.out != shape->out) {
            return fail(Code::bad_shape,
                        "the adapter takes '{}' for a matrix from {} to {}; the model's is from {} to {}", label,
                        update.in, update.out, shape->in, shape->out);
        }
        if (update.rank == 0 || update.rank > kMaxRank) {
            return fail(Code::limit, "the adapter's rank at '{}' is {}; 1 to {} are possible", label, update.rank,
                        kMaxRank);
        }
        if (update.a.size() != size_t(update.rank) * update.in || update.b.size() != size_t(update.rank) * update.out) {
            return fail(Code::bad_shape, "the adapter's A or B at '{}' has not as many values as it should", label);
        }
        if (!seen.insert({in_layer(update.target) ? update.layer : 0, update.target}).second) {
            return fail(Code::bad_file, "the adapter changes '{}' twice", label);
        }
    }
    return {};
}

Status check_fits(std::span<const Active> active, const model::WeightTable& table) {
    if (active.size() > kMaxActive) return fail(Code::limit, "at most {} adapters can take part at once", kMaxActive);
    for (const Active& one : active) {
        if (one.adapter == nullptr) return fail(Code::internal, "there is no adapter");
        TRY(check_fits(*one.adapter, table));
    }
    return {};
}

void add_update(const Update& update, float scale, std::span<const float> x, std::span<float> y) {
    const size_t rank = update.rank;
    const size_t out = update.out;
    std::vector<float> inner(x.size() / update.in * rank);  // [t, rank]
    const float s = scale * update.scale;
    multiply(update.a, rank, update.in, x, [&](size_t t, size_t r, float sum) { inner[t * rank + r] = s * sum; });
    multiply(update.b, out, rank, inner, [&](size_t t, size_t o, float sum) { y[t * out + o] += sum; });
}

void add_embedding_update(const Update& update, float scale, int32_t token, std::span<float> row) {
    std::vector<float> inner(update.rank);
    const float s = scale * update.scale;
    for (size_t r = 0; r < inner.size(); ++r) inner[r] = s * update.a[r * update.in + size_t(token)];
    multiply(update.b, update.out, update.rank, inner, [&](size_t, size_t o, float sum) { row[o] += sum; });
}

}  // namespace lapidary::lora
