// A vocabulary for models that were never trained: every text can be written in it, and nothing is learnt in it.
#pragma once

#include <cstdint>

#include "gguf/writer.h"

namespace lapidary::model {

// The `tokenizer.*` keys for exactly `size` tokens, at least 512: Gemma's special tokens, a token for each byte,
// printable ASCII, a few merges, and "tok400", "tok401", … for the rest. The special tokens are never to be sampled:
// an answer then has as many tokens as were asked for, whatever the weights.
void write_synthetic_vocabulary(uint32_t size, gguf::Writer& writer);

}  // namespace lapidary::model
