#include <cmath>
#include <map>
#include <set>

#include "base/half.h"
#include "chat/json.h"
#include "lora/write.h"
#include "lora/zip.h"

namespace lapidary::lora {
namespace {

using chat::Json;

// "self_attn.q_proj"
std::string_view module_in_layer(Target target) {
    switch (target) {
        case Target::q: return "self_attn.q_proj";
        case Target::k: return "self_attn.k_proj";
        case Target::v: return "self_attn.v_proj";
        case Target::o: return "self_attn.o_proj";
        case Target::gate: return "mlp.gate_proj";
        case Target::up: return "mlp.up_proj";
        case Target::down: return "mlp.down_proj";
        case Target::inp_gate: return "per_layer_input_gate";
        case Target::proj: return "per_layer_projection";
        case Target::token_embd: return "embed_tokens";
        case Target::output: return "lm_head";
    }
    return "";
}

std::string module_of(const Update& update, const model::WeightTable& table) {
    std::string name(module_in_layer(update.target));
    if (update.target == Target::output) return name;
    if (update.target == Target::token_embd) return table.peft_prefix + name;
    return table.peft_prefix + "layers." + std::to_string(update.layer) + "." + name;
}

std::string escaped(std::string_view text) {
    std::string out;
    for (const char c : text) out += c == '.' ? std::string("\\.") : std::string(1, c);
    return out;
}

template <class Range, class Text>
std::string alternatives(const Range& range, Text&& text) {
    std::string out;
    for (const auto& item : range) out += (out.empty() ? "" : "|") + text(item);
    return "(" + out + ")";
}

// A regular expression for the modules, because names alone would also match those of the towers for images and sound.
std::string target_pattern(const Adapter& adapter, const model::WeightTable& table) {
    std::set<uint32_t> layers;
    std::set<Target> targets, others;
    for (const Update& update : adapter.updates) {
        if (in_layer(update.target)) layers.insert(update.layer);
        (in_layer(update.target) ? targets : others).insert(update.target);
    }
    std::string out;
    if (!targets.empty()) {
        const std::string number = layers.size() == table.layers.size()
                                       ? "\\d+"
                                       : alternatives(layers, [](uint32_t layer) { return std::to_string(layer); });
        out = escaped(table.peft_prefix) + "layers\\." + number + "\\." +
              alternatives(targets, [](Target target) { return escaped(module_in_layer(target)); });
    }
    for (const Target target : others) {
        out += (out.empty() ? "" : "|") + escaped(module_of({.target = target}, table));
    }
    return out;
}

// A whole number where it is one: that is how the configuration is usually written.
Json number(float value) {
    if (value == std::floor(value) && std::abs(value) < 1e9f) return int64_t(value);
    return double(value);
}

template <class T>
T most_common(const std::map<T, size_t>& counts) {
    T best{};
    size_t most = 0;
    for (const auto& [value, count] : counts) {
        if (count > most) best = value;
        most = std::max(most, count);
    }
    return best;
}

// What to divide by the rank. A scale that is no positive number is multiplied into B instead.
float alpha_of(const Adapter& adapter, const Update& update) {
    if (!(update.scale > 0)) return float(update.rank);
    if (adapter.alpha / float(update.rank) == update.scale) return adapter.alpha;
    return update.scale * float(update.rank);
}

Json config_of(const Adapter& adapter, const model::WeightTable& table) {
    std::map<uint32_t, size_t> ranks;
    std::map<float, size_t> alphas;
    for (const Update& update : adapter.updates) {
        ++ranks[update.rank];
        ++alphas[alpha_of(adapter, update)];
    }
    const uint32_t rank = most_common(ranks);
    const float alpha = most_common(alphas);
    Json rank_pattern = Json::object();
    Json alpha_pattern = Json::object();
    for (const Update& update : adapter.updates) {
        const float own = alpha_of(adapter, update);
        // Older versions want a dot before what they look for.
        std::string module = module_of(update, table);
        if (module.starts_with("model.")) module.erase(0, 6);
        const std::string key = escaped(module);
        if (update.rank != rank) rank_pattern[key] = update.rank;
        if (own != alpha) alpha_pattern[key] = number(own);
    }
    return {{"peft_type", "LORA"},
            {"task_type", "CAUSAL_LM"},
            {"base_model_name_or_path", adapter.base_model.empty() ? Json() : Json(adapter.base_model)},
            {"r", rank},
            {"lora_alpha", number(alpha)},
            {"lora_dropout", 0.0},
            {"target_modules", target_pattern(adapter, table)},
            {"bias", "none"},
            {"use_rslora", false},
            {"use_dora", false},
            {"fan_in_fan_out", false},
            {"init_lora_weights", true},
            {"inference_mode", true},
            {"modules_to_save", nullptr},
            {"layers_to_transform", nullptr},
            {"rank_pattern", std::move(rank_pattern)},
            {"alpha_pattern", std::move(alpha_pattern)}};
}

Status check_range(const Update& update, Dtype type) {
    if (type != Dtype::f16) return {};
    for (const auto* values : {&update.a, &update.b}) {
        for (const float value : *values) {
            if (!std::isfinite(f16_to_f32(f32_to_f16(value)))) {
                return fail(Code::limit, "a value of '{}' is too large for F16: write F32", label_of(update));
            }
        }
    }
    return {};
}

}  // namespace

Result<std::vector<AdapterFile>> write_peft(const Adapter& adapter, const model::WeightTable& table, Dtype type) {
    TRY(check_fits(adapter, table));
    if (adapter.updates.empty()) return fail(Code::invalid_argument, "the adapter changes nothing");
    if (type == Dtype::i32) return fail(Code::invalid_argument, "an adapter cannot be written as I32");
    SafeTensorsWriter writer;
    writer.set_metadata("format", "pt");
    for (const Update& update : adapter.updates) {
        TRY(check_range(update, type));
        const std::string module = "base_model.model." + module_of(update, table);
        const bool embedding = update.target == Target::token_embd;
        const uint64_t a_shape[] = {update.rank, update.in};
        const uint64_t b_shape[] = {update.out, update.rank};
        writer.add(module + (embedding ? ".lora_embedding_A" : ".lora_A.weight"), a_shape, update.a, type);
        std::vector<float> scaled;
        if (!(update.scale > 0)) {
            scaled = update.b;
            for (float& value : scaled) value *= update.scale;
        }
        writer.add(module + (embedding ? ".lora_embedding_B" : ".lora_B.weight"), b_shape,
                   scaled.empty() ? update.b : scaled, type);
    }
    const std::string config = config_of(adapter, table).dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
    std::vector<AdapterFile> out;
    out.push_back({"adapter_config.json", Bytes(config.begin(), config.end())});
    out.push_back({"adapter_model.safetensors", writer.file()});
    return out;
}

Result<Bytes> write_peft_zip(const Adapter& adapter, const model::WeightTable& table, Dtype type) {
    const auto files = TRY(write_peft(adapter, table, type));
    std::vector<ZipEntry> entries;
    for (const AdapterFile& file : files) entries.push_back({file.name, file.bytes});
    return write_zip(entries);
}

}  // namespace lapidary::lora
