#include "model/config.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/edition.h"

namespace lapidary::model {
namespace {

// Sizes beyond these are not a model but a mistake or an attack; the largest Gemma 4 is far below each of them.
constexpr int64_t kMaxLayers = 1024;
constexpr int64_t kMaxWidth = 1 << 17;
constexpr int64_t kMaxHeads = 1024;
constexpr int64_t kMaxHeadDim = 8192;
constexpr int64_t kMaxFfn = 1 << 20;
constexpr int64_t kMaxContext = 1 << 26;
constexpr int64_t kMaxVocabulary = 1 << 22;
constexpr int64_t kMaxExperts = 4096;
constexpr int64_t kMaxCanvas = 512;  // as many tokens go through the layers together

// Reads the keys of an architecture, `gemma4.*` for one, with errors that name the key.
class KeyReader {
  public:
    KeyReader(const gguf::Header& header, std::string_view architecture) : header_(header), prefix_(architecture) {
        prefix_ += '.';
    }

    [[nodiscard]] const gguf::Value* find(std::string_view key) const { return header_.find(full(key)); }

    [[nodiscard]] Result<uint32_t> integer(std::string_view key, int64_t low, int64_t high) const {
        const gguf::Value* value = find(key);
        if (value == nullptr) return fail(Code::bad_file, "the metadata key '{}' is missing", full(key));
        return in_range(key, *value, low, high);
    }

    [[nodiscard]] Result<uint32_t> integer_or(std::string_view key, int64_t low, int64_t high, uint32_t other) const {
        if (find(key) == nullptr) return other;
        return integer(key, low, high);
    }

    [[nodiscard]] Result<float> number_or(std::string_view key, double low, double high, float other) const {
        const gguf::Value* value = find(key);
        if (value == nullptr) return other;
        const auto number = value->as_number();
        if (!number || !(*number >= low && *number <= high)) {
            return fail(Code::bad_file, "the metadata key '{}' is not a number between {} and {}", full(key), low,
                        high);
        }
        return float(*number);
    }

    // A key that is one number for all layers or an array with one number a layer.
    [[nodiscard]] Result<std::vector<uint32_t>> per_layer(std::string_view key, uint32_t layers, int64_t low,
                                                          int64_t high,
                                                          std::optional<uint32_t> other = std::nullopt) const {
        const gguf::Value* value = find(key);
        if (value == nullptr && other) return std::vector<uint32_t>(layers, *other);
        if (value == nullptr) return fail(Code::bad_file, "the metadata key '{}' is missing", full(key));
        const auto array = value->as_array();
        if (!array) return std::vector<uint32_t>(layers, TRY(in_range(key, *value, low, high)));
        TRY(check_length(key, *array, layers));
        std::vector<uint32_t> out;
        for (uint32_t i = 0; i < layers; ++i) out.push_back(TRY(in_range(key, array->at(i), low, high)));
        return out;
    }

    Status check_length(std::string_view key, const gguf::Array& array, uint32_t layers) const {
        if (array.element_type() == gguf::ValueType::string || array.size() != layers) {
            return fail(Code::bad_file, "the metadata key '{}' has {} entries; the model has {} layers", full(key),
                        array.size(), layers);
        }
        return {};
    }

    [[nodiscard]] std::string full(std::string_view key) const { return prefix_ + std::string(key); }

  private:
    [[nodiscard]] Result<uint32_t> in_range(std::string_view key, const gguf::Value& value, int64_t low,
                                            int64_t high) const {
        const auto integer = value.as_integer();
        if (!integer || *integer < low || *integer > high) {
            return fail(Code::bad_file, "the metadata key '{}' is not a whole number between {} and {}", full(key), low,
                        high);
        }
        return uint32_t(*integer);
    }

    const gguf::Header& header_;
    std::string prefix_;
};

// Which layers slide: an array of booleans, or a period n that makes every n-th layer a full one.
Result<std::vector<bool>> read_sliding_pattern(const KeyReader& keys, uint32_t layers, Family family) {
    constexpr std::string_view kKey = "attention.sliding_window_pattern";
    constexpr uint32_t kGemma3Period = 6;
    const gguf::Value* value = keys.find(kKey);
    if (value == nullptr && family == Family::gemma4) {
        return fail(Code::bad_file, "the metadata key '{}' is missing", keys.full(kKey));
    }
    std::vector<bool> sliding(layers);
    if (const auto array = value == nullptr ? std::nullopt : value->as_array()) {
        TRY(keys.check_length(kKey, *array, layers));
        for (uint32_t i = 0; i < layers; ++i) {
            const auto flag = array->at(i).as_bool();
            if (!flag) return fail(Code::bad_file, "the metadata key '{}' is not made of booleans", keys.full(kKey));
            sliding[i] = *flag;
        }
        return sliding;
    }
    const uint32_t period = TRY(keys.integer_or(kKey, 1, kMaxLayers, kGemma3Period));
    for (uint32_t i = 0; i < layers; ++i) sliding[i] = i % period != period - 1;
    return sliding;
}

// KV heads a layer. Old Ollama files give one number for sliding layers and another for full ones.
Result<std::vector<uint32_t>> read_kv_heads(const KeyReader& keys, const std::vector<bool>& sliding,
                                            std::optional<uint32_t> other) {
    const auto layers = uint32_t(sliding.size());
    auto kv_heads = TRY(keys.per_layer("attention.head_count_kv", layers, 1, kMaxHeads, other));
    if (keys.find("attention.global_head_count_kv") != nullptr) {
        const uint32_t global = TRY(keys.integer("attention.global_head_count_kv", 1, kMaxHeads));
        for (uint32_t i = 0; i < layers; ++i) {
            if (!sliding[i]) kv_heads[i] = global;
        }
    }
    return kv_heads;
}

// other: what a head has where the file does not say; 0: it has to.
Result<uint32_t> read_head_dim(const KeyReader& keys, std::string_view key_length, std::string_view value_length,
                               uint32_t other = 0) {
    const uint32_t dim = other == 0 ? TRY(keys.integer(key_length, 2, kMaxHeadDim))
                                    : TRY(keys.integer_or(key_length, 2, kMaxHeadDim, other));
    const uint32_t value_dim = TRY(keys.integer_or(value_length, 2, kMaxHeadDim, dim));
    if (dim != value_dim) {
        return fail(Code::unsupported, "keys of {} and values of {} elements a head: they must be equal", dim,
                    value_dim);
    }
    if (dim % 2 != 0) return fail(Code::bad_file, "a head of {} elements cannot be rotated: it must be even", dim);
    return dim;
}

// The last `shared` layers attend to what the last layer of their kind before them stored.
Status assign_donors(Config& config) {
    const auto layers = uint32_t(config.layers.size());
    const uint32_t owners = layers - config.shared_kv_layers;
    for (uint32_t i = 0; i < layers; ++i) {
        LayerConfig& layer = config.layers[i];
        layer.kv_layer = i;
        if (i < owners) continue;
        uint32_t donor = owners;
        while (donor > 0 && config.layers[donor - 1].sliding != layer.sliding) --donor;
        if (donor == 0) {
            return fail(Code::bad_file, "layer {} shares K and V, but no {} layer before layer {} has any", i,
                        layer.sliding ? "sliding" : "full", owners);
        }
        layer.kv_layer = donor - 1;
        const LayerConfig& source = config.layers[donor - 1];
        if (source.kv_heads != layer.kv_heads || source.head_dim != layer.head_dim) {
            return fail(Code::bad_file, "layer {} cannot share the K and V of layer {}: their heads differ", i,
                        donor - 1);
        }
    }
    return {};
}

Status read_layers(const KeyReader& keys, Config& config) {
    const uint32_t count = TRY(keys.integer("block_count", 1, kMaxLayers));
    config.shared_kv_layers = TRY(keys.integer_or("attention.shared_kv_layers", 0, count - 1, 0));
    const bool is_gemma3 = has_everything() && config.family == Family::gemma3;
    auto sliding = TRY(read_sliding_pattern(keys, count, config.family));
    if (config.sliding_window == 0) sliding.assign(count, false);
    const auto heads = TRY(keys.per_layer("attention.head_count", count, 1, kMaxHeads));
    const auto kv_heads = TRY(read_kv_heads(keys, sliding, is_gemma3 ? std::optional(heads[0]) : std::nullopt));
    const auto ffn = TRY(keys.per_layer("feed_forward_length", count, 1, kMaxFfn));
    const uint32_t usual_dim = is_gemma3 ? std::max(config.width / heads[0], 1u) : 0;
    const uint32_t full_dim = TRY(read_head_dim(keys, "attention.key_length", "attention.value_length", usual_dim));
    uint32_t sliding_dim = full_dim;
    if (!is_gemma3 && keys.find("attention.key_length_swa") != nullptr) {
        sliding_dim = TRY(read_head_dim(keys, "attention.key_length_swa", "attention.value_length_swa"));
    }
    for (uint32_t i = 0; i < count; ++i) {
        if (heads[i] % kv_heads[i] != 0) {
            return fail(Code::bad_file, "layer {} has {} query heads for {} KV heads: not a whole number each", i,
                        heads[i], kv_heads[i]);
        }
        config.layers.push_back({.sliding = sliding[i],
                                 .heads = heads[i],
                                 .kv_heads = kv_heads[i],
                                 .head_dim = sliding[i] ? sliding_dim : full_dim,
                                 .ffn = ffn[i]});
    }
    return assign_donors(config);
}

Status read_experts(const KeyReader& keys, Config& config) {
    config.experts.count = TRY(keys.integer_or("expert_count", 0, kMaxExperts, 0));
    if (config.experts.count == 0) return {};
    if (!has_everything()) return fail(Code::needs_everything, "this is a mixture of experts");
    config.experts.used = TRY(keys.integer("expert_used_count", 1, config.experts.count));
    config.experts.ffn = TRY(keys.integer("expert_feed_forward_length", 1, kMaxFfn));
    return {};
}

constexpr std::string_view kEmbeddingArchitecture = "gemma-embedding";
constexpr std::string_view kDiffusionArchitecture = "diffusion-gemma";

bool is_gemma3_architecture(std::string_view architecture) {
    return architecture == "gemma3" || architecture == kEmbeddingArchitecture;
}

Result<uint32_t> read_vocabulary_size(const gguf::Header& header, const KeyReader& keys, const TensorFacts& facts,
                                      Family family) {
    // Files of Gemma 3 may have more tokens than rows, or rows that stand for nothing: the rows count.
    if (has_everything() && family == Family::gemma3 && facts.embedding_rows > 0) {
        if (facts.embedding_rows > uint64_t(kMaxVocabulary)) {
            return fail(Code::bad_file, "token_embd.weight has {} rows: too many", facts.embedding_rows);
        }
        return uint32_t(facts.embedding_rows);
    }
    if (keys.find("vocab_size") != nullptr) return keys.integer("vocab_size", 1, kMaxVocabulary);
    const gguf::Value* tokens = header.find("tokenizer.ggml.tokens");
    const auto array = tokens == nullptr ? std::nullopt : tokens->as_array();
    if (!array || array->size() == 0 || array->size() > uint64_t(kMaxVocabulary)) {
        return fail(Code::bad_file, "the file has no usable vocabulary (tokenizer.ggml.tokens)");
    }
    return uint32_t(array->size());
}

Status read_suppressed(const gguf::Header& header, Config& config) {
    const gguf::Value* value = header.find("tokenizer.ggml.suppress_tokens");
    const auto array = value == nullptr ? std::nullopt : value->as_array();
    if (!array || array->element_type() == gguf::ValueType::string) return {};
    if (array->size() > config.vocabulary) {
        return fail(Code::bad_file, "tokenizer.ggml.suppress_tokens has more entries than there are tokens");
    }
    for (uint64_t i = 0; i < array->size(); ++i) {
        const auto id = array->at(i).as_integer();
        if (!id || *id < 0 || *id >= int64_t(config.vocabulary)) {
            return fail(Code::bad_file, "tokenizer.ggml.suppress_tokens names a token that does not exist");
        }
        config.suppress_tokens.push_back(int32_t(*id));
    }
    return {};
}

SamplingHints read_sampling(const gguf::Header& header) {
    SamplingHints hints;
    if (const auto temperature = header.number("general.sampling.temp"); temperature && *temperature >= 0) {
        hints.temperature = float(*temperature);
    }
    if (const auto top_k = header.integer("general.sampling.top_k"); top_k && *top_k >= 0 && *top_k < kMaxVocabulary) {
        hints.top_k = int32_t(*top_k);
    }
    if (const auto top_p = header.number("general.sampling.top_p"); top_p && *top_p > 0 && *top_p <= 1) {
        hints.top_p = float(*top_p);
    }
    return hints;
}

std::string gemma3_variant(const Config& config) {
    struct Size {
        std::string_view name;
        size_t layers;
        uint32_t width;
    };
    constexpr std::array kSizes = {Size{"270M", 18, 640}, Size{"1B", 26, 1152}, Size{"4B", 34, 2560},
                                   Size{"12B", 48, 3840}, Size{"27B", 62, 5376}};
    if (config.embedding) {
        return config.layers.size() == 24 && config.width == 768 ? "EmbeddingGemma" : "custom embedding";
    }
    for (const Size& size : kSizes) {
        if (size.layers == config.layers.size() && size.width == config.width) return std::string(size.name);
    }
    return "custom";
}

std::string variant_name(const Config& config) {
    if (has_everything() && config.family == Family::gemma3) return gemma3_variant(config);
    const size_t layers = config.layers.size();
    if (layers == 35 && config.width == 1536 && config.is_small()) return "E2B";
    if (layers == 42 && config.width == 2560 && config.is_small()) return "E4B";
    if (layers == 48 && config.width == 3840) return "12B";
    if (layers == 30 && config.width == 2816 && config.experts.count > 0) {
        return config.diffusion ? "diffusion-26B-A4B" : "26B-A4B";
    }
    if (layers == 60 && config.width == 5376) return "31B";
    return "custom";
}

// What is Gemma 3's own: positions of full layers, the scale of attention, no norm of V, and no soft-cap unless told.
Status read_gemma3(const gguf::Header& header, const KeyReader& keys, const TensorFacts& facts, Config& config) {
    config.norms_values = false;
    config.rotary_fraction_full = 1;
    // Larger models' positions on full layers are divided by 8. Ollama's files do not say so.
    constexpr uint32_t kLong = 131072;
    config.is_blob = facts.towers || keys.find("mm.tokens_per_image") != nullptr ||
                     keys.find("rope.local.freq_base") != nullptr || keys.find("rope.global.freq_base") != nullptr ||
                     header.find("tokenizer.ggml.add_padding_token") != nullptr ||
                     header.find("tokenizer.ggml.add_unknown_token") != nullptr ||
                     keys.find("attention.layer_norm_rms_epsilon") == nullptr;
    const float usual = config.is_blob && config.context_length >= kLong ? 8 : 1;
    const float older = TRY(keys.number_or("rope.scale_linear", 1e-3, 1e6, usual));
    const auto type = header.string(keys.full("rope.scaling.type")).value_or("linear");
    if (type != "linear" && type != "none") {
        return fail(Code::unsupported,
                    "this model scales its positions by '{}', which no Gemma 3 does: it borrows the architecture",
                    printable(type));
    }
    config.rope_factor_full = type == "none" ? 1 : TRY(keys.number_or("rope.scaling.factor", 1e-3, 1e6, older));
    if (config.rope_factor_full == 0) config.rope_factor_full = 1;
    const LayerConfig& layer = config.layers.front();
    const uint64_t rotated = TRY(keys.integer_or("rope.dimension_count", 1, kMaxHeadDim, layer.head_dim));
    if (rotated != layer.head_dim) {
        return fail(Code::unsupported, "only {} of a head's {} elements are rotated, which no Gemma 3 does", rotated,
                    layer.head_dim);
    }
    // There is no key for the scale. 27B, known by its layers, has that of width / heads; the others that of a head.
    const bool is_27b = config.layers.size() == 62;
    const uint32_t scaled_by = is_27b ? std::max(config.width / layer.heads, 1u) : layer.head_dim;
    config.attention_scale = 1 / std::sqrt(float(scaled_by));
    return {};
}

// Keys without a prefix; only the length of a canvas has to be there.
Status read_diffusion(const gguf::Header& header, Config& config) {
    const KeyReader keys(header, "diffusion");
    DiffusionConfig out{.canvas = TRY(keys.integer("canvas_length", 1, kMaxCanvas))};
    CanvasSettings& s = out.settings;
    s.max_steps = TRY(keys.integer_or("eb_max_steps", 1, kMaxCanvasSteps, s.max_steps));
    s.t_min = TRY(keys.number_or("eb_t_min", 1e-6, 100, s.t_min));
    s.t_max = TRY(keys.number_or("eb_t_max", 1e-6, 100, s.t_max));
    s.entropy_bound = TRY(keys.number_or("eb_entropy_bound", 0, 1e6, s.entropy_bound));
    s.stability_threshold = TRY(keys.integer_or("eb_stability_threshold", 0, kMaxCanvasSteps, s.stability_threshold));
    s.confidence_threshold = TRY(keys.number_or("eb_confidence_threshold", 0, 100, s.confidence_threshold));
    if (s.t_min > s.t_max) {
        return fail(Code::bad_file, "the metadata key 'diffusion.eb_t_min' is above 'diffusion.eb_t_max'");
    }
    if (config.shared_kv_layers > 0 || config.per_layer_width > 0) {
        return fail(
            Code::unsupported,
            "a diffusion model with shared keys and values or per-layer embeddings, which no DiffusionGemma has");
    }
    config.diffusion = out;
    return {};
}

Status read_embedding(const gguf::Header& header, const KeyReader& keys, const TensorFacts& facts, Config& config) {
    if (facts.dense_hidden == 0 || facts.dense_size == 0) {
        return fail(Code::unsupported,
                    "this embedding model lacks its two dense layers (dense_2 and dense_3), so what it gives would not "
                    "be EmbeddingGemma's embeddings: convert it with --sentence-transformers-dense-modules");
    }
    if (facts.dense_hidden > uint64_t(kMaxFfn) || facts.dense_size > uint64_t(kMaxWidth)) {
        return fail(Code::bad_file, "the dense layers have {} and {} rows: too many", facts.dense_hidden,
                    facts.dense_size);
    }
    EmbeddingConfig embedding{.hidden = uint32_t(facts.dense_hidden), .size = uint32_t(facts.dense_size)};
    const int64_t pooling = header.integer(keys.full("pooling_type")).value_or(0);
    if (pooling < 0 || pooling > 3) {
        return fail(Code::unsupported,
                    "texts are pooled in a way ({}) that is not known here: mean, first and last are", pooling);
    }
    if (pooling == 2) embedding.pooling = Pooling::first;
    if (pooling == 3) embedding.pooling = Pooling::last;
    config.embedding = embedding;
    return {};
}

// Rows of the embedding that no text becomes: of a picture, or there to make their number round.
void suppress_rows_without_text(const gguf::Header& header, Config& config) {
    constexpr uint32_t kText = 262144;
    const gguf::Value* value = header.find("tokenizer.ggml.tokens");
    const auto tokens = value == nullptr ? std::nullopt : value->as_array();
    const uint64_t known = tokens ? tokens->size() : config.vocabulary;
    for (uint64_t id = std::min<uint64_t>(known, kText); id < config.vocabulary; ++id) {
        config.suppress_tokens.push_back(int32_t(id));
    }
}

Result<Config> read_config(const gguf::Header& header, const TensorFacts& facts) {
    TRY(check_architecture(header));
    Config config;
    config.architecture = *header.string("general.architecture");
    config.family = is_gemma3_architecture(config.architecture) ? Family::gemma3 : Family::gemma4;
    const KeyReader keys(header, config.architecture);
    const bool is_gemma3 = has_everything() && config.family == Family::gemma3;
    config.name = printable(header.string("general.name").value_or(""), 120);
    config.width = TRY(keys.integer("embedding_length", 1, kMaxWidth));
    config.context_length = TRY(keys.integer("context_length", 1, kMaxContext));
    config.sliding_window = is_gemma3 ? TRY(keys.integer_or("attention.sliding_window", 0, kMaxContext, 0))
                                      : TRY(keys.integer("attention.sliding_window", 1, kMaxContext));
    config.per_layer_width = is_gemma3 ? 0 : TRY(keys.integer_or("embedding_length_per_layer_input", 0, kMaxWidth, 0));
    config.vocabulary = TRY(read_vocabulary_size(header, keys, facts, config.family));
    config.norm_epsilon = TRY(keys.number_or("attention.layer_norm_rms_epsilon", 0, 1, 1e-6f));
    const float older_base = TRY(keys.number_or("rope.global.freq_base", 1, 1e12, 1e6f));
    config.rope_base_full = TRY(keys.number_or("rope.freq_base", 1, 1e12, older_base));
    const float legacy_base = TRY(keys.number_or("rope.local.freq_base", 1, 1e12, 1e4f));
    config.rope_base_sliding = TRY(keys.number_or("rope.freq_base_swa", 1, 1e12, legacy_base));
    config.rotary_fraction_full = TRY(keys.number_or("rope.partial_rotary_factor", 0, 1, 0.25f));
    config.logit_softcap = TRY(keys.number_or("final_logit_softcapping", 0, 1e6, is_gemma3 ? 0.0f : 30.0f));
    TRY(read_layers(keys, config));
    if (is_gemma3) {
        TRY(read_gemma3(header, keys, facts, config));
        const gguf::Value* causal = keys.find("attention.causal");
        const bool sees_all = causal != nullptr && causal->as_bool() == false;
        if (sees_all || facts.dense_in_gemma3 || config.architecture == kEmbeddingArchitecture) {
            TRY(read_embedding(header, keys, facts, config));
        }
    } else {
        TRY(read_experts(keys, config));
        if (has_everything() && config.architecture == kDiffusionArchitecture) TRY(read_diffusion(header, config));
    }
    TRY(read_suppressed(header, config));
    if (is_gemma3) suppress_rows_without_text(header, config);
    config.sampling = read_sampling(header);
    config.variant = variant_name(config);
    return config;
}

}  // namespace

Status check_architecture(const gguf::Header& header) {
    const auto architecture = header.string("general.architecture");
    if (!architecture)
        return fail(Code::bad_file, "the file does not say what model it holds (no general.architecture)");
    const auto type = header.string("general.type").value_or("model");
    if (type == "adapter") {
        return fail(Code::unsupported, "this file is a LoRA adapter, not a model: open the model it belongs to");
    }
    if (type == "mmproj" || *architecture == "clip") {
        return fail(Code::unsupported, "this file is a vision or audio projector (mmproj): open the text model");
    }
    if (*architecture == "gemma4-assistant") {
        return fail(Code::unsupported, "this is a Gemma 4 drafter (gemma4-assistant), which is not supported yet");
    }
    if (*architecture == kDiffusionArchitecture) {
        if (!has_everything()) return fail(Code::needs_everything, "this is DiffusionGemma");
        return {};
    }
    if (*architecture == "gemma3n") {
        return fail(Code::unsupported,
                    "this is Gemma 3n (gemma3n), another architecture than Gemma 3, and not supported: try Gemma 4 E2B "
                    "or E4B, which come after it");
    }
    if (is_gemma3_architecture(*architecture)) {
        if (!has_everything()) return fail(Code::needs_everything, "this is a model of the Gemma 3 family");
        return {};
    }
    if (*architecture != "gemma4") {
        return fail(Code::unsupported,
                    "this is a '{}' model; Lapidary runs Gemma 4 ('gemma4'), DiffusionGemma ('diffusion-gemma'), "
                    "Gemma 3 ('gemma3') and EmbeddingGemma ('gemma-embedding')",
                    printable(*architecture));
    }
    return {};
}

Status check_writes_text(const Config& config) {
    if (!has_everything() || !config.embedding) return {};
    return fail(Code::unsupported,
                "this is a model of embeddings: it turns texts into vectors and writes none. Ask it with "
                "embeddings.create, /v1/embeddings or `lapidary embed`");
}

void TensorFacts::look_at(const gguf::TensorInfo& tensor) {
    const std::string_view name = tensor.name;
    if (name == "token_embd.weight") embedding_rows = tensor.ne[1];
    if (name.starts_with("v.") || name.starts_with("mm.")) towers = true;
    if (name == "dense_2.weight" || name == "dense.0.weight") dense_hidden = tensor.ne[1];
    if (name == "dense_3.weight" || name == "dense.1.weight") dense_size = tensor.ne[1];
    if (name == "dense.0.weight") dense_in_gemma3 = true;
}

Result<Config> read_config(const gguf::Header& header) {
    TensorFacts facts;
    for (const gguf::TensorInfo& tensor : header.tensors) facts.look_at(tensor);
    return read_config(header, facts);
}

Result<Config> read_config(const gguf::File& file) {
    TensorFacts facts;
    for (const gguf::FileTensor& tensor : file.tensors()) facts.look_at(tensor.info);
    return read_config(file.metadata(), facts);
}

}  // namespace lapidary::model
