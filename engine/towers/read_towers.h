// One tower of a file: its sizes from the metadata, its weights from the table of tensors.
#pragma once

#include "towers/keys.h"
#include "towers/projector.h"

namespace lapidary::towers {

// Sizes beyond these are not a tower but a mistake or an attack; the largest of Gemma 4's is far below each of them.
inline constexpr int64_t kMaxLayers = 1024;
inline constexpr int64_t kMaxWidth = 1 << 16;
inline constexpr int64_t kMaxHeads = 1024;
inline constexpr int64_t kMaxPatch = 1024;
inline constexpr int64_t kMaxPooling = 64;

Result<Vision> read_vision(VisionKind kind, const Keys& keys, const gguf::File& file);
Result<Audio> read_audio(AudioKind kind, const Keys& keys, const gguf::File& file);

}  // namespace lapidary::towers
