// Just enough of zip to put a few files into one, and to get them out again: stored, never compressed.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/byte_source.h"
#include "base/error.h"

namespace lapidary::lora {

struct ZipEntry {
    std::string name;
    std::span<const uint8_t> bytes;
};

uint32_t crc32(std::span<const uint8_t> bytes);

// Files below 4 GiB, names in UTF-8.
Result<Bytes> write_zip(std::span<const ZipEntry> entries);

// Views into the archive. What is compressed or encrypted is refused by name; checksums are verified.
Result<std::vector<ZipEntry>> read_zip(std::span<const uint8_t> archive);

}  // namespace lapidary::lora
