#include "testing/files.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace lapidary::testing {
namespace {

std::optional<Bytes> read_absolute(const std::string& path) {
    std::FILE* file = std::fopen(path.c_str(), "rb");
    if (file == nullptr) return std::nullopt;
    // At once: growing piece by piece is slow under sanitizers.
    std::fseek(file, 0, SEEK_END);
    Bytes bytes(size_t(std::max(0L, std::ftell(file))));
    std::rewind(file);
    bytes.resize(std::fread(bytes.data(), 1, bytes.size(), file));
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

std::optional<Bytes> read_vocabulary() {
    if (const char* set = std::getenv("LAPIDARY_VOCAB")) return read_absolute(set);
    return read_absolute(root() + "/../shared/vocab/gemma4-vocab.gguf");
}

}  // namespace lapidary::testing
