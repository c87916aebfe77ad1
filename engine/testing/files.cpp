#include "testing/files.h"

#include <cstdio>
#include <cstdlib>

namespace lapidary::testing {
namespace {

std::optional<Bytes> read_absolute(const std::string& path) {
    std::FILE* file = std::fopen(path.c_str(), "rb");
    if (file == nullptr) return std::nullopt;
    Bytes bytes;
    Bytes chunk(1 << 20);
    while (true) {
        const size_t got = std::fread(chunk.data(), 1, chunk.size(), file);
        if (got == 0) break;
        bytes.insert(bytes.end(), chunk.begin(), chunk.begin() + ptrdiff_t(got));
    }
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
