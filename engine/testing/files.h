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

// The real vocabulary is 15 MB and not in the repository: $LAPIDARY_VOCAB, or ../shared/vocab/gemma4-vocab.gguf.
// Tests that want it skip, saying so, when it is not there.
std::optional<Bytes> read_vocabulary();

}  // namespace lapidary::testing
