// One model on disk: a GGUF file, or the several files ("shards") of a model that was split.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gguf/header.h"

namespace lapidary::gguf {

inline constexpr uint64_t kMaxShards = 1024;
// One read is one allocation; whoever wants more reads in pieces.
inline constexpr uint64_t kMaxReadBytes = 1ull << 30;

struct FileTensor {
    TensorInfo info;     // info.range is inside its own shard
    uint32_t shard = 0;  // position among the sources
};

// Copies share the sources and the header bytes.
class File {
  public:
    // All files of the model, in order (see shard_names). Reads the headers and nothing else.
    static Task<Result<File>> open(std::vector<std::shared_ptr<ByteSource>> sources, Cancel cancel);

    // The header of the first file: all metadata of the model is there. It lists only that file's tensors; for all
    // of them use `tensors`.
    [[nodiscard]] const Header& metadata() const { return headers_.front(); }

    [[nodiscard]] size_t n_shards() const { return headers_.size(); }
    [[nodiscard]] std::span<const FileTensor> tensors() const { return tensors_; }  // in file order, shard by shard
    [[nodiscard]] const FileTensor* find(std::string_view name) const;              // null when there is none

    // Bytes `offset` to `offset + size` of a tensor of this file; beyond its end is an error. The tensor and the file
    // need not outlive the call: the task holds on to what it needs.
    [[nodiscard]] Task<Result<Bytes>> read(const FileTensor& tensor, uint64_t offset, uint64_t size,
                                           Cancel cancel) const;

    // Where a tensor of this file is, for who reads parts of it for longer than the file is open.
    [[nodiscard]] std::shared_ptr<ByteSource> source_of(const FileTensor& tensor) const {
        return sources_[tensor.shard];
    }

  private:
    File() = default;

    std::vector<std::shared_ptr<ByteSource>> sources_;
    std::vector<Header> headers_;  // one a source; they keep alive what the names point into
    std::vector<FileTensor> tensors_;
    NameIndex index_;
};

// The names of all files of a split model, in order, from the name of any of them ("x-00001-of-00003.gguf"); just
// `name` when it is not the name of one file of several.
std::vector<std::string> shard_names(std::string_view name);

}  // namespace lapidary::gguf
