#include "api/describe.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "api/canvas.h"
#include "base/edition.h"
#include "base/sort_few.h"
#include "chat/markers.h"
#include "model/memory.h"

namespace lapidary::api {
namespace {

// Types in the order of the bytes they take.
std::vector<TensorShare> quantization_mix(const gguf::File& file) {
    struct Sum {
        uint64_t tensors = 0;
        uint64_t bytes = 0;
        uint64_t parameters = 0;
    };
    std::map<std::string_view, Sum> sums;
    for (const gguf::FileTensor& tensor : file.tensors()) {
        Sum& sum = sums[tensor.info.type->name];
        ++sum.tensors;
        sum.bytes += tensor.info.range.size;
        sum.parameters += tensor.info.elements();
    }
    std::vector<std::pair<std::string_view, Sum>> order(sums.begin(), sums.end());
    sort_few(order, std::greater{}, [](const auto& item) { return item.second.bytes; });
    std::vector<TensorShare> out;
    for (const auto& [type, sum] : order) {
        out.push_back({.type = std::string(type),
                       .tensors = int64_t(sum.tensors),
                       .bytes = int64_t(sum.bytes),
                       .parameters = int64_t(sum.parameters)});
    }
    return out;
}

// One number where all layers agree, else the list.
template <class Get>
Json per_layer(const model::Config& config, Get&& get) {
    Json list = Json::array();
    bool same = true;
    for (const model::LayerConfig& layer : config.layers) {
        list.push_back(get(layer));
        same = same && list.back() == list.front();
    }
    return same ? list.front() : list;
}

void describe_config(const model::Config& config, ModelDescription& out) {
    out.variant = config.variant;
    out.layers = int64_t(config.layers.size());
    uint32_t sliding = 0;
    for (const model::LayerConfig& layer : config.layers) sliding += layer.sliding ? 1 : 0;
    out.sliding_layers = sliding;
    out.width = config.width;
    out.heads = per_layer(config, [](const auto& layer) { return layer.heads; });
    out.kv_heads = per_layer(config, [](const auto& layer) { return layer.kv_heads; });
    out.head_dim = per_layer(config, [](const auto& layer) { return layer.head_dim; });
    out.feed_forward = per_layer(config, [](const auto& layer) { return layer.ffn; });
    out.vocabulary = config.vocabulary;
    out.context_length = config.context_length;
    out.sliding_window = config.sliding_window;
    if (config.per_layer_width > 0) out.per_layer_embedding = config.per_layer_width;
    if (config.shared_kv_layers > 0) out.shared_kv_layers = config.shared_kv_layers;
    if (config.experts.count > 0) {
        out.experts = ModelExperts{
            .count = config.experts.count, .used = config.experts.used, .feed_forward = config.experts.ffn};
    }
    if (config.embedding) out.embedding_size = config.embedding->size;
    if (has_everything() && config.diffusion) out.diffusion = describe_diffusion(*config.diffusion);
    const model::SamplingHints& hints = config.sampling;
    if (hints.temperature || hints.top_k || hints.top_p) {
        out.sampling = SamplingHints{.temperature = hints.temperature, .top_k = hints.top_k, .top_p = hints.top_p};
    }
}

// Weights, and the KV cache for a short and for the longest context.
void describe_memory(const model::Config& config, const model::WeightTable& table, KvFormat kv, ModelDescription& out) {
    const uint64_t weights = model::weight_bytes(table);
    Json memory = {{"weights", weights}, {"kv_format", std::string(kv_format_name(kv))}};
    uint64_t canvas = 0;
    if (has_everything() && config.diffusion) memory["canvas"] = canvas = canvas_bytes(config);
    for (const uint64_t wanted : {uint64_t{4096}, uint64_t{config.context_length}}) {
        const uint64_t positions = std::min<uint64_t>(wanted, config.context_length);
        const uint64_t cache = model::kv_bytes(config, positions, kv);
        memory["kv_cache_at_" + std::to_string(positions)] = cache;
        memory["total_at_" + std::to_string(positions)] = weights + cache + canvas;
    }
    // As the CPU keeps them.
    memory["weights_on_cpu"] = cpu::Model::planned_bytes(table, infer::TablePlace::automatic);
    // May stay in the file (model.load), which costs time instead.
    if (table.per_layer_token_embd.present()) memory["per_layer_embeddings"] = table.per_layer_token_embd.bytes();
    out.parameters = int64_t(model::weight_elements(table));
    out.memory = std::move(memory);
}

bool has_tensors(const gguf::File& file, std::string_view prefix) {
    return std::ranges::any_of(file.tensors(),
                               [&](const auto& tensor) { return tensor.info.name.starts_with(prefix); });
}

// What a program may expect of answers, in Ollama's words. Whether a model was taught to think and to call tools its file
// does not say outright; the template that was trained with it does, and members of the family were.
Json capabilities(const gguf::File& file, const model::Config& config) {
    if (has_everything() && config.embedding) return {"embedding"};
    const gguf::Header& header = file.metadata();
    const std::string_view written = header.string("tokenizer.chat_template").value_or("");
    const auto was_taught = [&](std::string_view marker) {
        return config.variant != "custom" || written.contains(marker);
    };
    Json out = {"completion"};
    if (config.family == model::Family::gemma3) {
        // Gemma 3 can be talked into calls, but was not taught any. FunctionGemma was.
        if (written.contains(chat::kFunctionCallOpen)) out.push_back("tools");
        return out;
    }
    if (was_taught(chat::kCallOpen)) out.push_back("tools");
    if (was_taught(chat::kThink)) out.push_back("thinking");
    // By towers in its own file. Whether they are whole, shows when they are read.
    const bool gemma4 = header.string("general.architecture") == "gemma4";
    if (gemma4 && has_tensors(file, "v.")) out.push_back("vision");
    if (gemma4 && has_tensors(file, "a.")) out.push_back("audio");
    return out;
}

std::string_view dialect(const gguf::File& file, const model::Config* config) {
    if (config != nullptr && config->family == model::Family::gemma3) return config->is_blob ? "ollama" : "llama.cpp";
    if (file.metadata().string("tokenizer.ggml.model") == "llama") return "ollama";
    for (const std::string_view tower : {"a.", "v.", "mm.", "model.vision_tower."}) {
        if (has_tensors(file, tower)) return "ollama";
    }
    return "llama.cpp";
}

std::optional<int64_t> array_size(const gguf::Header& header, std::string_view key) {
    const gguf::Value* value = header.find(key);
    const auto array = value == nullptr ? std::nullopt : value->as_array();
    return array ? std::optional(int64_t(array->size())) : std::nullopt;
}

// A projector by itself can be described, and cannot be talked to.
void describe_towers(const gguf::File& file, Status& supported, ModelDescription& out) {
    const auto projector = towers::read_projector(file);
    if (!projector) {
        supported = std::unexpected(projector.error());
        return;
    }
    if (!projector->vision && !projector->audio) return;
    out.towers = describe(*projector);
    if (towers::is_projector(file)) {
        supported = fail(Code::unsupported,
                         "this is a projector (mmproj), for images and sounds: it is used together with its model");
    }
    if (!out.capabilities.is_null()) return;  // they were told by the model's own file
    out.capabilities = Json::array();
    if (projector->vision) out.capabilities.push_back("vision");
    if (projector->audio) out.capabilities.push_back("audio");
}

}  // namespace

TowersDescription describe(const towers::Projector& projector) {
    constexpr int64_t kPieceSeconds = 30;
    TowersDescription out;
    const auto add_bytes = [&](const std::vector<towers::Weight>& all) {
        for (const towers::Weight& weight : all) out.bytes += int64_t(weight.bytes());
    };
    if (projector.vision) {
        const towers::VisionConfig& config = projector.vision->config;
        add_bytes(projector.vision->table.all);
        out.vision = VisionTower{.kind = config.kind == towers::VisionKind::gemma4v ? "gemma4v" : "gemma4uv",
                                 .layers = config.layers,
                                 .width = config.width,
                                 .heads = config.heads,
                                 .feed_forward = config.ffn,
                                 .token_side = config.side(),
                                 .most_tokens_per_side = config.positions / config.pooling,
                                 .budgets = {70, 140, 280, 560, 1120}};
    }
    if (projector.audio) {
        const towers::AudioConfig& config = projector.audio->config;
        const bool conformer = config.kind == towers::AudioKind::gemma4a;
        add_bytes(projector.audio->table.all);
        out.audio = AudioTower{.kind = conformer ? "gemma4a" : "gemma4ua",
                               .layers = config.layers,
                               .width = config.width,
                               .heads = config.heads,
                               .feed_forward = config.ffn};
        if (conformer) out.audio->piece_seconds = kPieceSeconds;
    }
    return out;
}

ModelDescription describe(OpenModel& model, KvFormat kv) {
    const gguf::Header& header = model.file.metadata();
    ModelDescription out;
    out.architecture = printable(header.string("general.architecture").value_or("unknown"));
    if (const auto name = header.string("general.name")) out.name = printable(*name, 120);
    out.format = format("GGUF v{}", header.version);
    out.file_bytes = int64_t(model.file_bytes);
    if (model.file.n_shards() > 1) out.files = int64_t(model.file.n_shards());
    out.tensors = int64_t(model.file.tensors().size());

    Status supported;
    const auto config = model.config();
    out.dialect = std::string(dialect(model.file, config ? config->get() : nullptr));
    if (config) describe_config(**config, out);
    if (config) out.capabilities = capabilities(model.file, **config);
    if (!config) supported = std::unexpected(config.error());
    if (config) {
        const auto table = model.weights();
        if (table) describe_memory(**config, **table, kv, out);
        if (!table) supported = std::unexpected(table.error());
    }
    if (has_everything() && towers::has_towers(model.file)) describe_towers(model.file, supported, out);
    out.supported = supported.has_value();
    if (!supported) out.reason = supported.error().message;
    out.quantization = quantization_mix(model.file);
    if (header.find("tokenizer.ggml.tokens") != nullptr) {
        out.tokenizer = TokenizerSummary{.model = printable(header.string("tokenizer.ggml.model").value_or("unknown")),
                                         .tokens = array_size(header, "tokenizer.ggml.tokens"),
                                         .merges = array_size(header, "tokenizer.ggml.merges")};
    }
    out.cpu = describe_cpu(model);
    if (model.gpu_weights != nullptr) out.gpu = describe(model.gpu_weights->choice());
    return out;
}

GpuKernels describe(const infer::Autotune& choice) {
    const bool subgroups = choice.variant.reduction == kernels::Reduction::subgroup;
    const bool limbs = choice.variant.activations == kernels::Activations::limbs;
    GpuKernels out{
        .variant = {.reduction = subgroups ? "subgroup" : "shared", .activations = limbs ? "limbs" : "floats"},
        .selftest = {.cases = int64_t(choice.cases), .ms = choice.selftest_ms, .wrong = choice.wrong}};
    if (choice.compute_units > 0) out.compute_units = choice.compute_units;
    if (choice.remembered) out.remembered = true;
    if (choice.limbs_ms > 0) out.gemv_ms = GpuGemvMs{.limbs = choice.limbs_ms, .floats = choice.floats_ms};
    return out;
}

AdapterDescription describe(const lora::Adapter& adapter) {
    AdapterDescription out{.name = adapter.name, .base_model = adapter.base_model, .alpha = adapter.alpha};
    std::set<uint32_t> ranks, layers;
    std::set<lora::Target> targets;
    for (const lora::Update& update : adapter.updates) {
        out.parameters += int64_t(update.a.size() + update.b.size());
        ranks.insert(update.rank);
        targets.insert(update.target);
        if (lora::in_layer(update.target)) layers.insert(update.layer);
        out.updates.push_back({.layer = update.layer,
                               .target = std::string(lora::name_of(update.target)),
                               .rank = update.rank,
                               .scale = update.scale});
    }
    out.ranks.assign(ranks.begin(), ranks.end());
    out.layers.assign(layers.begin(), layers.end());
    for (const lora::Target target : targets) out.targets.emplace_back(lora::name_of(target));
    return out;
}

WrittenModel describe(const model::QuantizeReport& report) {
    WrittenModel out{.bytes = int64_t(report.bytes)};
    for (const model::QuantizedTensor& tensor : report.tensors) {
        out.tensors.push_back({.name = tensor.name,
                               .from = std::string(tensor_type_name(tensor.from)),
                               .to = std::string(tensor_type_name(tensor.to))});
    }
    return out;
}

}  // namespace lapidary::api
