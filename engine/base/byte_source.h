// ByteSource: where a model's bytes come from. A file, a URL, a blob in the browser: the engine only ever
// asks for ranges and never knows.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/cancel.h"
#include "base/task.h"

namespace lapidary {

using Bytes = std::vector<uint8_t>;

struct ByteRange {
    uint64_t offset = 0;
    uint64_t size = 0;
};

class ByteSource {
  public:
    ByteSource() = default;
    ByteSource(const ByteSource&) = delete;
    ByteSource& operator=(const ByteSource&) = delete;
    virtual ~ByteSource() = default;

    [[nodiscard]] virtual uint64_t size() const = 0;

    // Exactly `range.size` bytes, or an error. A range beyond the end is an error, not a short read.
    virtual Task<Result<Bytes>> read(ByteRange range, Cancel cancel) = 0;
};

// Bytes that are already in memory: tests and small files.
class MemorySource final : public ByteSource {
  public:
    explicit MemorySource(Bytes bytes) : bytes_(std::move(bytes)) {}
    [[nodiscard]] uint64_t size() const override { return bytes_.size(); }
    Task<Result<Bytes>> read(ByteRange range, Cancel cancel) override;

  private:
    Bytes bytes_;
};

// Where a file the engine makes goes: the other direction, in pieces and at offsets.
class ByteSink {
  public:
    ByteSink() = default;
    ByteSink(const ByteSink&) = delete;
    ByteSink& operator=(const ByteSink&) = delete;
    virtual ~ByteSink() = default;

    virtual Task<Status> write(uint64_t offset, Bytes bytes, Cancel cancel) = 0;
};

// The check every source makes before it reads.
Status check_range(ByteRange range, uint64_t size);

}  // namespace lapidary
