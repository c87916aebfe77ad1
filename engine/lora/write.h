// Adapters as files for other programs.
#pragma once

#include <string>
#include <vector>

#include "base/byte_source.h"
#include "lora/adapter.h"
#include "lora/safetensors.h"

namespace lapidary::lora {

struct AdapterFile {
    std::string name;
    Bytes bytes;
};

// The two files of a PEFT directory: adapter_config.json and adapter_model.safetensors. Float types only.
Result<std::vector<AdapterFile>> write_peft(const Adapter& adapter, const model::WeightTable& table, Dtype type);

// Both of them in one archive.
Result<Bytes> write_peft_zip(const Adapter& adapter, const model::WeightTable& table, Dtype type);

// For llama.cpp and Ollama: F32, F16, BF16 or Q8_0 (rows that are no whole blocks become F16). Embeddings, and a head
// that is the embedding, have no place in this format: they are refused.
Result<Bytes> write_gguf(const Adapter& adapter, const model::WeightTable& table, TensorType type);

}  // namespace lapidary::lora
