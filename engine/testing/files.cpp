#include "testing/files.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>

namespace lapidary::testing {
namespace {

std::optional<Bytes> read_absolute(const std::string& path) {
    std::FILE* file = std::fopen(path.c_str(), "rb");
    if (file == nullptr) return std::nullopt;
    std::fseek(file, 0, SEEK_END);
    const auto size = size_t(std::max(0L, std::ftell(file)));
    std::rewind(file);
    // Into memory that nobody clears first: what is not optimised clears a vector byte by byte.
    const auto read = std::make_unique_for_overwrite<uint8_t[]>(size);
    Bytes bytes(read.get(), read.get() + std::fread(read.get(), 1, size, file));
    std::fclose(file);
    return bytes;
}

}  // namespace

std::string root() {
    const char* set = std::getenv("LAPIDARY_ROOT");
    return set != nullptr ? set : ".";
}

std::optional<Bytes> read_file(std::string_view path) {
    return read_absolute(root() + "/" + std::string(path));
}

std::optional<std::string> read_text(std::string_view path) {
    const auto bytes = read_file(path);
    if (!bytes) return std::nullopt;
    return std::string(bytes->begin(), bytes->end());
}

std::optional<Bytes> read_vocabulary(std::string_view family) {
    const char* set = std::getenv(family == "gemma3" ? "LAPIDARY_VOCAB_GEMMA3" : "LAPIDARY_VOCAB");
    if (set != nullptr) return read_absolute(set);
    return read_absolute(root() + "/../shared/vocab/" + std::string(family) + "-vocab.gguf");
}

}  // namespace lapidary::testing
