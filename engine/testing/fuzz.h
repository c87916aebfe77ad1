// What fuzzers share: a promise that must hold, and files of the repository. Needs nothing but the engine.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "base/byte_source.h"
#include "gguf/header.h"
#include "gguf/writer.h"

namespace lapidary::testing {

// What does not hold ends the fuzzer, which then writes down what it was given.
inline void check(bool condition) {
    if (!condition) std::abort();
}

// A file below the working directory, which is the repository's.
inline Bytes repository_file(const char* path) {
    std::FILE* file = std::fopen(path, "rb");
    if (file == nullptr) std::fprintf(stderr, "there is no %s: run this from the repository's folder\n", path);
    check(file != nullptr);
    std::fseek(file, 0, SEEK_END);
    Bytes bytes(size_t(std::ftell(file)));
    std::rewind(file);
    check(std::fread(bytes.data(), 1, bytes.size(), file) == bytes.size());
    std::fclose(file);
    return bytes;
}

inline gguf::Header repository_header(const char* path) {
    MemorySource source(repository_file(path));
    auto header = *gguf::read_header(source, {}).run_now();
    check(header.has_value());
    return *std::move(header);
}

// The header that was put together, as a reader sees it; nothing when it is one that readers refuse.
inline std::optional<gguf::Header> header_of(const gguf::Writer& writer) {
    const auto layout = writer.layout();
    if (!layout) return std::nullopt;
    auto parsed = gguf::parse_header(std::make_shared<const Bytes>(layout->header), layout->file_size);
    check(parsed.has_value() && std::holds_alternative<gguf::Header>(*parsed));
    return std::get<gguf::Header>(*std::move(parsed));
}

}  // namespace lapidary::testing
