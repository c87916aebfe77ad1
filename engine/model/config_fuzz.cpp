// What a file says about its model: arbitrary metadata, and the metadata of models we know with some of it changed.
//   build/fuzz/engine/config_fuzz -max_len=4096 NEW_FINDINGS tests/data/fuzz/config
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "model/blueprint.h"
#include "model/memory.h"
#include "model/weights.h"
#include "testing/fuzz.h"

namespace lapidary::model {
namespace {

using testing::check;

void check_layer(const Config& config, uint32_t index) {
    const LayerConfig& layer = config.layers[index];
    check(layer.heads > 0 && layer.kv_heads > 0 && layer.heads % layer.kv_heads == 0);
    check(layer.head_dim > 0 && layer.head_dim % 2 == 0 && layer.ffn > 0);
    check(layer.kv_layer <= index && config.owns_kv(layer.kv_layer));
    const LayerConfig& donor = config.layers[layer.kv_layer];
    check(donor.sliding == layer.sliding && donor.kv_width() == layer.kv_width());
}

// Whatever is accepted has the shape everything else relies on, and its sizes can be added up.
void check_model(const gguf::Header& header) {
    const auto config = read_config(header);
    if (!config) {
        check(!config.error().message.empty());
        return;
    }
    check(!config->layers.empty() && config->shared_kv_layers < config->layers.size());
    check(config->width > 0 && config->vocabulary > 0 && config->context_length > 0 && config->sliding_window > 0);
    check(std::isfinite(config->norm_epsilon) && std::isfinite(config->logit_softcap));
    check(std::isfinite(config->rope_base_full) && std::isfinite(config->rope_base_sliding));
    check(config->experts.used <= config->experts.count);
    for (const int32_t id : config->suppress_tokens) check(id >= 0 && uint32_t(id) < config->vocabulary);
    for (uint32_t i = 0; i < config->layers.size(); ++i) check_layer(*config, i);
    const uint64_t most = kv_bytes_unwindowed(*config, config->context_length);
    check(most >= kv_bytes_unwindowed(*config, 1));
    for (const KvFormat format : kKvFormats) {
        check(kv_bytes(*config, config->context_length, format) >= kv_bytes(*config, 1, format));
    }

    const auto table = find_weights(*config, [&](std::string_view name) { return header.find_tensor(name); });
    if (!table) {
        check(!table.error().message.empty());
        return;
    }
    check(table->layers.size() == config->layers.size());
    check(table->token_embd.cols == config->width && table->token_embd.rows == config->vocabulary);
    uint64_t bytes = 0;
    table->for_each([&](const Weight& weight) { bytes += weight.bytes(); });
    check(bytes == weight_bytes(*table) && bytes <= header.file_length && weight_elements(*table) > 0);
}

void fuzz_file(std::span<const uint8_t> file) {
    const auto bytes = std::make_shared<const Bytes>(file.begin(), file.end());
    const auto parsed = gguf::parse_header(bytes, bytes->size());
    if (parsed && std::holds_alternative<gguf::Header>(*parsed)) check_model(std::get<gguf::Header>(*parsed));
}

constexpr std::array kModels = {"tiny-e2b", "tiny-31b", "tiny-one", "tiny-moe"};
constexpr std::array kKeys = {"general.architecture",
                              "general.type",
                              "general.name",
                              "general.sampling.temp",
                              "general.sampling.top_k",
                              "general.sampling.top_p",
                              "gemma4.block_count",
                              "gemma4.vocab_size",
                              "gemma4.embedding_length",
                              "gemma4.context_length",
                              "gemma4.embedding_length_per_layer_input",
                              "gemma4.feed_forward_length",
                              "gemma4.expert_count",
                              "gemma4.expert_used_count",
                              "gemma4.expert_feed_forward_length",
                              "gemma4.final_logit_softcapping",
                              "gemma4.rope.freq_base",
                              "gemma4.rope.freq_base_swa",
                              "gemma4.rope.local.freq_base",
                              "gemma4.rope.partial_rotary_factor",
                              "gemma4.attention.head_count",
                              "gemma4.attention.head_count_kv",
                              "gemma4.attention.global_head_count_kv",
                              "gemma4.attention.key_length",
                              "gemma4.attention.value_length",
                              "gemma4.attention.key_length_swa",
                              "gemma4.attention.value_length_swa",
                              "gemma4.attention.layer_norm_rms_epsilon",
                              "gemma4.attention.shared_kv_layers",
                              "gemma4.attention.sliding_window",
                              "gemma4.attention.sliding_window_pattern",
                              "tokenizer.ggml.tokens",
                              "tokenizer.ggml.suppress_tokens"};

// Takes bytes from the front; zeros when there are none left.
struct Input {
    std::span<const uint8_t> bytes;

    template <class T>
    T take() {
        T value{};
        const size_t size = std::min(sizeof(T), bytes.size());
        std::memcpy(&value, bytes.data(), size);
        bytes = bytes.subspan(size);
        return value;
    }
    std::vector<uint32_t> numbers(size_t count) {
        std::vector<uint32_t> out;
        for (size_t i = 0; i < count; ++i) out.push_back(take<uint8_t>());
        return out;
    }
};

void change_key(gguf::Writer& writer, const char* key, Input& input, size_t layers) {
    switch (input.take<uint8_t>() % 12) {
        case 0: writer.remove(key); break;
        case 1: writer.set_bool(key, input.take<uint8_t>() % 2 != 0); break;
        case 2: writer.set_u16(key, input.take<uint16_t>()); break;
        case 3: writer.set_u32(key, input.take<uint32_t>()); break;
        case 4: writer.set_i32(key, input.take<int32_t>()); break;
        case 5: writer.set_u64(key, input.take<uint64_t>()); break;
        case 6: writer.set_f32(key, input.take<float>()); break;
        case 7: writer.set_string(key, std::string(input.take<uint8_t>() % 130, char(input.take<uint8_t>()))); break;
        case 8: writer.set_u32s(key, input.numbers(layers)); break;
        case 9: writer.set_u32s(key, input.numbers(input.take<uint8_t>())); break;
        case 10: {
            std::vector<bool> flags;
            for (size_t i = 0; i < layers; ++i) flags.push_back(input.take<uint8_t>() % 2 != 0);
            writer.set_bools(key, flags);
            break;
        }
        default: writer.set_u32(key, input.take<uint8_t>()); break;
    }
}

// A model before anything was changed: made once, because that takes longer than reading it.
struct Known {
    explicit Known(std::string_view name) : config(*family_config(name)) {
        write_metadata(config, metadata);
        metadata.set_u32("gemma4.vocab_size", config.vocabulary);
        for (const bool unused : {false, true}) {
            tensors[size_t(unused)] = list_tensors(config, {.unused_shared_kv = unused});
        }
    }
    Config config;
    gguf::Writer metadata;
    std::array<std::vector<TensorBlueprint>, 2> tensors;
};

// A file that fits what was said, but for what is then changed again.
void fuzz_changes(std::span<const uint8_t> bytes) {
    static const auto* known = new std::vector<Known>(kModels.begin(), kModels.end());
    Input input{bytes};
    const Known& base = (*known)[input.take<uint8_t>() % kModels.size()];
    const Config& config = base.config;
    gguf::Writer writer = base.metadata;
    auto tensors = base.tensors[input.take<uint8_t>() % 2];
    const size_t changes = input.take<uint8_t>() % 6;
    for (size_t i = 0; i < changes; ++i) {
        const auto what = input.take<uint8_t>();
        if (what < 200) {
            change_key(writer, kKeys[what % kKeys.size()], input, config.layers.size());
            continue;
        }
        TensorBlueprint& tensor = tensors[input.take<uint16_t>() % tensors.size()];
        if (what < 220)
            tensor.ne[0] = input.take<uint32_t>();
        else if (what < 240)
            tensor.ne.push_back(input.take<uint8_t>());
        else
            tensor.name += char(input.take<uint8_t>());
    }
    for (const TensorBlueprint& tensor : tensors) writer.add_tensor(tensor.name, TensorType::f32, tensor.ne);
    if (const auto header = testing::header_of(writer)) check_model(*header);
}

}  // namespace
}  // namespace lapidary::model

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace lapidary::model;
    if (size < 1) return 0;
    if (data[0] % 4 == 0) {
        fuzz_file({data + 1, size - 1});
    } else {
        fuzz_changes({data + 1, size - 1});
    }
    return 0;
}
