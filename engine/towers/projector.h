// The towers of a file: an mmproj in llama.cpp's dialect, or a model's own file as Ollama makes them.
#pragma once

#include <optional>

#include "gguf/file.h"
#include "model/config.h"
#include "towers/config.h"
#include "towers/tables.h"

namespace lapidary::towers {

struct Vision {
    VisionConfig config;
    VisionTable table;
};

struct Audio {
    AudioConfig config;
    AudioTable table;
};

// Whether the file is a projector and nothing else. What is in it may still be of another family.
[[nodiscard]] bool is_projector(const gguf::File& file);

// Whether the file has towers of any kind, beside a text model or alone.
[[nodiscard]] bool has_towers(const gguf::File& file);

struct Projector {
    std::optional<Vision> vision;
    std::optional<Audio> audio;
};

// Reads the header only. A file without towers gives an empty projector.
Result<Projector> read_projector(const gguf::File& file);

// Refuses towers whose soft tokens are not as wide as the model's own.
Status check_fits(const Projector& projector, const model::Config& model);

}  // namespace lapidary::towers
