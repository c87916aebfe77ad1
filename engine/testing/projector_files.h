// GGUF files of the repository, as they are or with a few bytes changed.
#pragma once

#include <algorithm>
#include <string>

#include "gguf/file.h"
#include "testing/files.h"

namespace lapidary::testing {

inline Result<gguf::File> open_bytes(Bytes bytes) {
    auto opened = gguf::File::open({std::make_shared<MemorySource>(std::move(bytes))}, {}).run_now();
    return *std::move(opened);
}

inline Result<gguf::File> open_file(const std::string& path) {
    auto bytes = read_file(path);
    if (!bytes) return fail(Code::not_found, "there is no file '{}'", path);
    return open_bytes(*std::move(bytes));
}

// Every occurrence of `before` replaced by `after`, which is as long.
inline Result<gguf::File> open_changed(const std::string& path, std::string_view before, std::string_view after) {
    auto bytes = read_file(path);
    if (!bytes) return fail(Code::not_found, "there is no file '{}'", path);
    bool changed = false;
    for (auto at = bytes->begin();;) {
        at = std::search(at, bytes->end(), before.begin(), before.end(),
                         [](uint8_t a, char b) { return a == uint8_t(b); });
        if (at == bytes->end()) break;
        std::ranges::copy(after, at);
        changed = true;
    }
    if (!changed || before.size() != after.size()) return fail(Code::not_found, "'{}' is not in the file", before);
    return open_bytes(*std::move(bytes));
}

}  // namespace lapidary::testing
