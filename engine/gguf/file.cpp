#include "gguf/file.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace lapidary::gguf {
namespace {

constexpr std::string_view kSplitNo = "split.no";
constexpr std::string_view kSplitCount = "split.count";
constexpr std::string_view kSplitTensors = "split.tensors.count";

// 7 → "00007", as in the names of shards.
std::string five_digits(uint64_t number) {
    std::string digits = std::to_string(number);
    if (digits.size() < 5) digits.insert(0, 5 - digits.size(), '0');
    return digits;
}

std::string shard_suffix(uint64_t number, uint64_t count) {
    return format("-{}-of-{}.gguf", five_digits(number), five_digits(count));
}

// What one file says about the split it is part of.
struct Split {
    uint64_t position = 0;
    uint64_t count = 1;
    std::optional<uint64_t> tensors;
};

Result<std::optional<uint64_t>> natural(const Header& header, std::string_view key) {
    const Value* value = header.find(key);
    if (value == nullptr) return std::nullopt;
    const auto number = value->as_integer();
    if (!number || *number < 0) return fail(Code::bad_file, "metadata key '{}' is not a natural number", key);
    return uint64_t(*number);
}

Result<Split> read_split(const Header& header) {
    Split split;
    split.position = TRY(natural(header, kSplitNo)).value_or(0);
    split.count = std::max<uint64_t>(1, TRY(natural(header, kSplitCount)).value_or(1));
    split.tensors = TRY(natural(header, kSplitTensors));
    return split;
}

// The first file decides how many there must be.
Status check_first(const Split& split, size_t given) {
    if (split.count > kMaxShards) {
        return fail(Code::limit, "this model is split into {} files; at most {} are supported", split.count,
                    kMaxShards);
    }
    if (split.position != 0) {
        return fail(Code::invalid_argument, "this is file {} of {} of a split model: open it by the first, …{}",
                    split.position + 1, split.count, shard_suffix(1, split.count));
    }
    if (split.count == given) return {};
    if (split.count == 1) {
        return fail(Code::invalid_argument, "this model is a single file, but {} files were given", given);
    }
    return fail(Code::invalid_argument, "this is file 1 of {}, and {} given: open all {}, …{} to …{}", split.count,
                given == 1 ? std::string("no other was") : format("{} were", given), split.count,
                shard_suffix(1, split.count), shard_suffix(split.count, split.count));
}

Status check_other(const Header& header, uint64_t position, uint64_t count) {
    const auto said = TRY(natural(header, kSplitNo));
    if (!said) return fail(Code::bad_file, "it is no part of a split model (it has no '{}')", kSplitNo);
    if (*said != position) {
        return fail(Code::invalid_argument,
                    "it says that it is file number {} ('{}' is {}): give the files in order, each once", *said + 1,
                    kSplitNo, *said);
    }
    const auto total = TRY(natural(header, kSplitCount));
    if (total && *total != count) {
        return fail(Code::invalid_argument, "it belongs to a model that is split into {} files", *total);
    }
    return {};
}

// A sentence about one file of several says which.
Error in_shard(Error error, size_t position, size_t count) {
    if (count > 1 && error.code != Code::cancelled) {
        error.message = format("file {} of {}: {}", position + 1, count, error.message);
    }
    return error;
}

// Owns all it needs: the File may be moved or gone by the time this runs.
Task<Result<Bytes>> read_range(std::shared_ptr<ByteSource> source, Result<ByteRange> range, Cancel cancel) {
    if (!range) co_return std::unexpected(range.error());
    CO_TRY(cancel.check());
    auto bytes = CO_TRY(co_await source->read(*range, cancel));
    if (bytes.size() != range->size) {
        co_return fail(Code::io, "asked for {} bytes at offset {}, but got {}", range->size, range->offset,
                       bytes.size());
    }
    co_return bytes;
}

Result<ByteRange> range_in_tensor(const TensorInfo& info, uint64_t offset, uint64_t size) {
    if (offset > info.range.size || size > info.range.size - offset) {
        return fail(Code::invalid_argument, "wanted {} bytes at offset {} of tensor '{}', which has only {}", size,
                    offset, printable(info.name), info.range.size);
    }
    if (size > kMaxReadBytes) {
        return fail(Code::limit, "wanted {} of tensor '{}' at once; read it in pieces", format_bytes(size),
                    printable(info.name));
    }
    return ByteRange{info.range.offset + offset, size};
}

// A number of exactly five digits.
std::optional<uint64_t> parse_five_digits(std::string_view text) {
    uint64_t number = 0;
    for (const char c : text) {
        if (c < '0' || c > '9') return std::nullopt;
        number = number * 10 + uint64_t(c - '0');
    }
    return number;
}

}  // namespace

Task<Result<File>> File::open(std::vector<std::shared_ptr<ByteSource>> sources, Cancel cancel) {
    if (sources.empty() || std::ranges::contains(sources, nullptr)) {
        co_return fail(Code::invalid_argument, "no file was given");
    }
    File file;
    Split split;
    for (size_t i = 0; i < sources.size(); ++i) {
        auto header = co_await read_header(*sources[i], cancel);
        if (!header) co_return std::unexpected(in_shard(std::move(header).error(), i, sources.size()));
        if (i == 0) {
            split = CO_TRY(read_split(*header));
            CO_TRY(check_first(split, sources.size()));
        } else if (auto status = check_other(*header, i, sources.size()); !status) {
            co_return std::unexpected(in_shard(std::move(status).error(), i, sources.size()));
        }
        if (file.tensors_.size() + header->tensors.size() > kMaxTensors) {
            co_return fail(Code::limit, "the files have more than {} tensors together", kMaxTensors);
        }
        for (const TensorInfo& info : header->tensors) file.tensors_.push_back({info, uint32_t(i)});
        file.headers_.push_back(std::move(*header));
    }
    const auto name_of = [](const FileTensor& tensor) { return tensor.info.name; };
    if (const auto twice = file.index_.build(std::span(std::as_const(file.tensors_)), name_of)) {
        const FileTensor& tensor = file.tensors_[*twice];
        co_return fail(Code::bad_file, "tensor '{}' of file {} of {} is in an earlier file too",
                       printable(tensor.info.name), tensor.shard + 1, sources.size());
    }
    if (split.count > 1 && split.tensors && *split.tensors != file.tensors_.size()) {
        co_return fail(Code::bad_file, "the {} files have {} tensors together, but the first says {} ('{}')",
                       sources.size(), file.tensors_.size(), *split.tensors, kSplitTensors);
    }
    file.sources_ = std::move(sources);
    co_return file;
}

const FileTensor* File::find(std::string_view name) const {
    const auto position = index_.find(name);
    return position ? &tensors_[*position] : nullptr;
}

Task<Result<Bytes>> File::read(const FileTensor& tensor, uint64_t offset, uint64_t size, Cancel cancel) const {
    if (tensor.shard >= sources_.size()) {
        return read_range(nullptr,
                          fail(Code::invalid_argument, "tensor '{}' is not of this file", printable(tensor.info.name)),
                          std::move(cancel));
    }
    return read_range(sources_[tensor.shard], range_in_tensor(tensor.info, offset, size), std::move(cancel));
}

std::vector<std::string> shard_names(std::string_view name) {
    // …-00001-of-00003.gguf
    constexpr size_t kSuffix = 20;
    const size_t prefix = name.size() < kSuffix ? 0 : name.size() - kSuffix;
    const auto number = parse_five_digits(name.substr(std::min(prefix + 1, name.size()), 5));
    const auto count = parse_five_digits(name.substr(std::min(prefix + 10, name.size()), 5));
    const bool split = name.size() >= kSuffix && number && count && *count <= kMaxShards && *number >= 1 &&
                       *number <= *count && name.substr(prefix) == shard_suffix(*number, *count);
    if (!split) return {std::string(name)};
    std::vector<std::string> names;
    for (uint64_t i = 1; i <= *count; ++i)
        names.push_back(std::string(name.substr(0, prefix)) + shard_suffix(i, *count));
    return names;
}

}  // namespace lapidary::gguf
