// The readers behind read_adapter(), one a format.
#pragma once

#include "lora/read.h"
#include "lora/safetensors.h"

namespace lapidary::lora {

// The values are not trusted: neither names nor shapes.
Result<ReadAdapter> read_peft(const SafeTensors& file, const ReadOptions& options, const model::WeightTable& table);
Result<ReadAdapter> read_rullama(const SafeTensors& file, const ReadOptions& options, const model::WeightTable& table);
Result<ReadAdapter> read_gguf(std::span<const uint8_t> file, const ReadOptions& options,
                              const model::WeightTable& table);

inline constexpr std::string_view kRullamaFormat = "rullama-lora-v0";

// "layers.12." → 12, and `text` is what follows. Nothing when there is no such number, or too large a one.
std::optional<uint32_t> take_number(std::string_view& text);

}  // namespace lapidary::lora
