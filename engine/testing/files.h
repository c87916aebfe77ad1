// Test data: files of the repository, and the optional ones beside it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/byte_source.h"

namespace lapidary::testing {

// The repository's folder: $LAPIDARY_ROOT, or the working directory.
std::string root();

// A file below the repository's folder, or nothing.
std::optional<Bytes> read_file(std::string_view path);
std::optional<std::string> read_text(std::string_view path);

// The real vocabularies are too large for the repository: $LAPIDARY_VOCAB, or ../shared/vocab/gemma4-vocab.gguf;
// $LAPIDARY_VOCAB_GEMMA3, or ../shared/vocab/gemma3-vocab.gguf. Tests that want one skip, saying so, when it is not there.
std::optional<Bytes> read_vocabulary(std::string_view family = "gemma4");

}  // namespace lapidary::testing
