// The members of the Gemma 3 family from their published sizes (blueprint.h has those of Gemma 4, and the doors to both).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "gguf/writer.h"
#include "model/config.h"

namespace lapidary::model {

std::optional<Config> gemma3_config(std::string_view variant);
std::string gemma3_names();
void write_gemma3_metadata(const Config& config, gguf::Writer& writer);

}  // namespace lapidary::model
