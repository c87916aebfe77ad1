// Adapters from the files of other programs, and of ours. What a file is, its bytes say.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "lora/adapter.h"

namespace lapidary::lora {

enum class AdapterFormat : uint8_t {
    peft,     // adapter_model.safetensors, with adapter_config.json
    zip,      // both in one archive, not compressed
    gguf,     // llama.cpp, Ollama
    rullama,  // rullama-lora-v0: a safetensors file that says so
};
std::string_view format_name(AdapterFormat format);

struct ReadOptions {
    std::string name;    // what to call it; the file may know a better one
    std::string config;  // peft: the text of adapter_config.json
};

struct ReadAdapter {
    Adapter adapter;
    AdapterFormat format = AdapterFormat::peft;
    std::vector<std::string> ignored;  // tensors that would change nothing in this model
};

// The whole file in memory. Whatever does not belong to this model is refused with a sentence that names the tensor.
Result<ReadAdapter> read_adapter(std::span<const uint8_t> file, const ReadOptions& options,
                                 const model::WeightTable& table);

}  // namespace lapidary::lora
