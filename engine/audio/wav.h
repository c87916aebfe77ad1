// WAV: the chunks of a RIFF file, of which `fmt ` says how samples are written and `data` has them.
#pragma once

#include "audio/sound.h"

namespace lapidary::audio {

// Whether the bytes begin as a WAV file does; its further content may still be anything.
bool is_wav(std::span<const uint8_t> file);

// Whole numbers of 8, 16, 24 or 32 bits and floats of 32 or 64. The bytes must live as long as the sound.
Result<Sound> read_wav(std::span<const uint8_t> file);

}  // namespace lapidary::audio
