// A vocabulary for models that were never trained: every text can be written in it, and nothing is learnt in it.
#pragma once

#include <cstdint>

#include "gguf/writer.h"
#include "model/config.h"

namespace lapidary::model {

// The `tokenizer.*` keys for exactly as many tokens as the model has, at least 512 (640 of Gemma 3): Gemma's special tokens, a token for each byte,
// printable ASCII, a few merges, and "tok400", "tok401", … for the rest. The special tokens are never to be sampled:
// an answer then has as many tokens as were asked for, whatever the weights. Tokens of Gemma 3 have scores instead of merges.
void write_synthetic_vocabulary(const Config& config, gguf::Writer& writer);

}  // namespace lapidary::model
