// Rows of a table that stays in its file: read when somebody needs them, and packed as the GPU wants them.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "base/byte_source.h"
#include "base/tensor_type.h"

namespace lapidary::infer {

class TableRows {
  public:
    // The table begins at `offset`.
    TableRows(std::shared_ptr<ByteSource> source, uint64_t offset, TensorType type, uint64_t rows, uint64_t cols)
        : source_(std::move(source)), offset_(offset), type_(type), rows_(rows), cols_(cols), kept_(kKept) {}

    // One after the other; a row may be asked for more than once. Several tasks may ask at the same time.
    Task<Result<Bytes>> rows(std::span<const int32_t> ids, Cancel cancel);

  private:
    // A few megabytes: most tokens of a text are among those used lately.
    static constexpr size_t kKept = 1024;
    // Rows that are read at the same time: files answer at once, servers after a while.
    static constexpr size_t kAtOnce = 16;

    std::shared_ptr<ByteSource> source_;
    uint64_t offset_;
    TensorType type_;
    uint64_t rows_;
    uint64_t cols_;
    struct Kept {
        int32_t id = 0;
        Bytes packed;  // empty: nothing is kept here
    };
    std::vector<Kept> kept_;  // each row has its place, which it shares with others
};

}  // namespace lapidary::infer
