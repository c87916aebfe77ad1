// Token ids as they cross the door: little-endian int32, one after the other.
#pragma once

#include <cstring>
#include <span>
#include <vector>

#include "base/byte_source.h"

namespace lapidary::api {

inline Bytes to_blob(std::span<const int32_t> ids) {
    Bytes out(ids.size_bytes());
    if (!ids.empty()) std::memcpy(out.data(), ids.data(), out.size());
    return out;
}

inline Result<std::vector<int32_t>> from_blob(std::span<const uint8_t> blob) {
    if (blob.size() % sizeof(int32_t) != 0) {
        return fail(Code::invalid_argument, "{} bytes are not a list of 4-byte token ids", blob.size());
    }
    std::vector<int32_t> ids(blob.size() / sizeof(int32_t));
    if (!ids.empty()) std::memcpy(ids.data(), blob.data(), blob.size());
    return ids;
}

}  // namespace lapidary::api
