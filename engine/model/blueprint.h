// The members of the families from their published sizes: what metadata and which tensors such a file has.
// For making synthetic models, and for testing that we read what we know.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gguf/writer.h"
#include "model/config.h"

namespace lapidary::model {

// "E2B", "E4B", "12B", "26B-A4B", "31B", in capitals or not; and five that nobody published, with the same features in
// a few megabytes: "tiny-e2b", "tiny-31b", "tiny-one" (a single layer, for what is not about the model: quick also on GPUs
// that take long to compile), "tiny-wide" (rows too long for one workgroup), "tiny-moe".
// "diffusion-26b-a4b" and "tiny-diffusion" write by canvases.
// Of Gemma 3 "gemma3-270m", "gemma3-1b", …, "embeddinggemma", and "tiny-gemma3" and "tiny-embedding".
Result<Config> family_config(std::string_view variant);

struct TensorBlueprint {
    std::string name;
    std::vector<uint64_t> ne;  // contiguous dimension first
};

struct BlueprintOptions {
    // Older conversions carry the K and V weights of layers that use a donor's.
    bool unused_shared_kv = false;
};

std::vector<TensorBlueprint> list_tensors(const Config& config, BlueprintOptions options);

// The `general.*` keys and those of the architecture; no vocabulary.
void write_metadata(const Config& config, gguf::Writer& writer);

}  // namespace lapidary::model
