// Rows of a table that stays in its file: read when somebody needs them, and packed as the backend wants them.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "base/byte_source.h"
#include "base/tensor_type.h"

namespace lapidary::infer {

// Where the table of per-layer embeddings is, the largest weight of the models that have one, of which a token needs a
// row. In the source, its rows are read as tokens come: the next step cannot begin before its token is known here.
enum class TablePlace : uint8_t {
    automatic,  // with the other weights if there is room
    gpu,        // with the other weights
    source,
};

class TableRows {
  public:
    // A row's bytes in the file → as the backend wants it; all rows have the same size then.
    using Pack = Bytes (*)(TensorType type, std::span<const uint8_t> bytes, uint64_t rows, uint64_t cols);

    // The table begins at `offset`.
    TableRows(std::shared_ptr<ByteSource> source, uint64_t offset, TensorType type, uint64_t rows, uint64_t cols,
              Pack pack)
        : source_(std::move(source)),
          offset_(offset),
          type_(type),
          rows_(rows),
          cols_(cols),
          pack_(pack),
          kept_(kKept) {}

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
    Pack pack_;
    struct Kept {
        int32_t id = 0;
        Bytes packed;  // empty: nothing is kept here
    };
    std::vector<Kept> kept_;  // each row has its place, which it shares with others
};

}  // namespace lapidary::infer
