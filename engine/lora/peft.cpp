// PEFT: base_model.model.{module}.lora_A.weight [rank, in] and .lora_B.weight [out, rank], and a configuration.
#include <array>
#include <cmath>

#include "chat/json.h"
#include "lora/collect.h"
#include "lora/formats.h"
#include "lora/module_pattern.h"

namespace lapidary::lora {
namespace {

using chat::Json;

// Ranks or alphas of some modules, in the order of the file: the first that matches counts.
using Patterns = std::vector<std::pair<std::string, float>>;

struct Config {
    uint32_t rank = 0;
    float alpha = 0;
    bool rslora = false;
    Patterns ranks, alphas;
    std::string base_model;
};

bool is_set(const Json& value) {
    if (value.is_null() || value == false) return false;
    return !(value.is_structured() || value.is_string()) || !value.empty();
}

Result<float> positive(const Json& value, std::string_view what) {
    const double number = value.is_number() ? value.get<double>() : 0;
    if (!(number > 0) || number > 1e9) {
        return fail(Code::bad_file, "'{}' in adapter_config.json must be a positive number", printable(what));
    }
    return float(number);
}

Result<Patterns> patterns(const Json& object, std::string_view what) {
    Patterns out;
    if (!is_set(object)) return out;
    if (!object.is_object()) return fail(Code::bad_file, "'{}' in adapter_config.json must be an object", what);
    for (const auto& [key, value] : object.items()) out.emplace_back(key, TRY(positive(value, key)));
    return out;
}

// Kinds of adapters and options of LoRA that change more than A and B say.
Status refuse_other_kinds(const Json& config) {
    const std::string_view kind = chat::string_of(chat::member(config, "peft_type"));
    if (!kind.empty() && kind != "LORA") {
        return fail(Code::unsupported, "this is an adapter of the kind {}, which is not supported; LORA is",
                    printable(kind));
    }
    struct Option {
        const char* key;
        std::string_view name;
    };
    static constexpr auto kRefused =
        std::to_array<Option>({{"use_dora", "DoRA"},
                               {"use_qalora", "QALoRA"},
                               {"lora_bias", "a LoRA bias"},
                               {"modules_to_save", "modules_to_save (fully trained modules)"},
                               {"trainable_token_indices", "trainable_token_indices"},
                               {"layer_replication", "layer_replication"},
                               {"target_parameters", "target_parameters (experts)"},
                               {"alora_invocation_tokens", "activated LoRA (aLoRA)"},
                               {"fan_in_fan_out", "fan_in_fan_out"}});
    for (const Option& option : kRefused) {
        if (is_set(chat::member(config, option.key))) {
            return fail(Code::unsupported, "the adapter uses {}, which is not supported", option.name);
        }
    }
    const std::string_view bias = chat::string_of(chat::member(config, "bias"));
    if (!bias.empty() && bias != "none") {
        return fail(Code::unsupported, "the adapter trains biases (bias: '{}'), which is not supported",
                    printable(bias));
    }
    return {};
}

Result<Config> read_config(std::string_view text) {
    if (text.empty()) {
        return fail(Code::invalid_argument,
                    "the adapter's adapter_config.json is missing: without its lora_alpha the adapter cannot be used");
    }
    const Json json = TRY(chat::parse_json(text, "adapter_config.json"));
    if (!json.is_object()) return fail(Code::bad_file, "adapter_config.json must be a JSON object");
    TRY(refuse_other_kinds(json));
    Config out;
    const float rank = TRY(positive(chat::member(json, "r"), "r"));
    if (rank != std::floor(rank) || rank > float(kMaxRank)) {
        return fail(Code::limit, "the adapter's rank 'r' must be a whole number from 1 to {}", kMaxRank);
    }
    out.rank = uint32_t(rank);
    out.alpha = TRY(positive(chat::member(json, "lora_alpha"), "lora_alpha"));
    const Json& rslora = chat::member(json, "use_rslora");
    if (!rslora.is_null() && !rslora.is_boolean()) {
        return fail(Code::bad_file, "'use_rslora' in adapter_config.json must be true or false");
    }
    out.rslora = rslora == true;
    out.ranks = TRY(patterns(chat::member(json, "rank_pattern"), "rank_pattern"));
    out.alphas = TRY(patterns(chat::member(json, "alpha_pattern"), "alpha_pattern"));
    out.base_model = std::string(chat::string_of(chat::member(json, "base_model_name_or_path")));
    return out;
}

Result<float> value_for(const Patterns& patterns, std::string_view module, float otherwise) {
    for (const auto& [pattern, value] : patterns) {
        if (TRY(matches_module(pattern, module))) return value;
    }
    return otherwise;
}

struct PeftPlace {
    uint32_t layer = 0;
    Target target = Target::q;
    Collector::Side side = Collector::Side::a;
    std::string module;  // as the patterns see it: "model.language_model.layers.3.self_attn.q_proj"
};

bool take(std::string_view& text, std::string_view prefix) {
    if (!text.starts_with(prefix)) return false;
    text.remove_prefix(prefix.size());
    return true;
}

// "self_attn.q_proj": the modules of a layer, each in the folder it lives in.
std::optional<Target> target_in_layer(std::string_view path) {
    const bool attention = take(path, "self_attn.");
    const bool ffn = !attention && take(path, "mlp.");
    const auto target = target_from(path);
    if (!target || !in_layer(*target) || name_of(*target) == path) return std::nullopt;
    const bool is_attention = *target <= Target::o;
    const bool is_ffn = *target >= Target::gate && *target <= Target::down;
    if (attention != is_attention || ffn != is_ffn) return std::nullopt;
    return target;
}

std::optional<PeftPlace> peft_place_of(std::string_view name) {
    PeftPlace out;
    const size_t mark = name.rfind(".lora_");
    if (mark == std::string_view::npos) return std::nullopt;
    std::string_view suffix = name.substr(mark + 6);
    const bool embedding = take(suffix, "embedding_");
    if (suffix.empty() || (suffix[0] != 'A' && suffix[0] != 'B')) return std::nullopt;
    out.side = suffix[0] == 'A' ? Collector::Side::a : Collector::Side::b;
    suffix.remove_prefix(1);
    // Some savers keep the adapter's name there: .lora_A.default.weight
    if (suffix != (embedding ? "" : ".weight") && suffix != (embedding ? ".default" : ".default.weight")) {
        return std::nullopt;
    }
    std::string_view path = name.substr(0, mark);
    if (!take(path, "base_model.model.")) return std::nullopt;
    out.module = path;
    while (take(path, "model.") || take(path, "language_model.")) {
    }
    if (take(path, "layers.")) {
        const auto layer = take_number(path);
        if (!layer || embedding) return std::nullopt;
        const auto target = target_in_layer(path);
        if (!target) return std::nullopt;
        out.layer = *layer;
        out.target = *target;
        return out;
    }
    if (path != (embedding ? "embed_tokens" : "lm_head")) return std::nullopt;
    out.target = embedding ? Target::token_embd : Target::output;
    return out;
}

// Why a tensor is not one of ours.
std::unexpected<Error> refuse(std::string_view name) {
    struct Sign {
        std::string_view part, reason;
    };
    static constexpr auto kSigns = std::to_array<Sign>({
        {"vision_tower", "is for the vision tower; adapters of the text model are supported"},
        {"embed_vision", "is for the vision tower; adapters of the text model are supported"},
        {"multi_modal_projector", "is for the vision tower; adapters of the text model are supported"},
        {"audio_tower", "is for the audio tower; adapters of the text model are supported"},
        {"embed_audio", "is for the audio tower; adapters of the text model are supported"},
        {"lora_magnitude_vector", "belongs to DoRA, which is not supported"},
        {"ia3_l", "belongs to IA3, which is not supported"},
        {"modules_to_save", "is a fully trained module (modules_to_save), which is not supported"},
        {".lora_a", "is named as MLX does, which is not supported: convert the adapter to PEFT or GGUF"},
        {".lora_b", "is named as MLX does, which is not supported: convert the adapter to PEFT or GGUF"},
        {".bias", "is a bias, which is not supported"},
        {"router", "is for the router of the experts, which cannot be adapted"},
        {"experts", "is for the experts, which cannot be adapted"},
        {"per_layer_model_projection", "is for the per-layer embeddings, which cannot be adapted"},
        {"embed_tokens_per_layer", "is for the per-layer embeddings, which cannot be adapted"},
    });
    for (const Sign& sign : kSigns) {
        if (name.find(sign.part) != std::string_view::npos) {
            return fail(Code::unsupported, "tensor '{}' {}", printable(name, 120), sign.reason);
        }
    }
    return fail(Code::unsupported, "tensor '{}' is nothing an adapter for this model has", printable(name, 120));
}

}  // namespace

Result<ReadAdapter> read_peft(const SafeTensors& file, const ReadOptions& options, const model::WeightTable& table) {
    std::map<std::pair<uint32_t, Target>, std::string> modules;
    Collector collector;
    for (const SafeTensor& tensor : file.tensors()) {
        auto place = peft_place_of(tensor.name);
        if (!place) return refuse(tensor.name);
        RawMatrix matrix = TRY(matrix_of(tensor));
        TRY(collector.add(place->layer, place->target, place->side, std::move(matrix)));
        modules.insert_or_assign({place->layer, place->target}, std::move(place->module));
    }
    const Config config = TRY(read_config(options.config));
    ReadAdapter out{.format = AdapterFormat::peft};
    out.adapter.name = options.name;
    out.adapter.base_model = config.base_model;
    out.adapter.alpha = config.alpha;
    out.adapter.updates = TRY(collector.finish(
        table,
        [&](uint32_t layer, Target target, uint32_t rank, const std::string& name) -> Result<float> {
            const std::string& module = modules[{layer, target}];
            const float expected = TRY(value_for(config.ranks, module, float(config.rank)));
            if (expected != float(rank)) {
                return fail(Code::bad_shape, "tensor '{}' has rank {}; adapter_config.json says {}",
                            printable(name, 120), rank, expected);
            }
            const float alpha = TRY(value_for(config.alphas, module, config.alpha));
            return config.rslora ? alpha / std::sqrt(float(rank)) : alpha / float(rank);
        },
        out.ignored));
    return out;
}

}  // namespace lapidary::lora
