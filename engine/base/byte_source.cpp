#include "base/byte_source.h"

namespace lapidary {

Status check_range(ByteRange range, uint64_t size) {
    if (range.offset > size || range.size > size - range.offset) {
        return fail(Code::truncated, "wanted {} bytes at offset {}, but the file has only {} bytes", range.size,
                    range.offset, size);
    }
    return {};
}

Task<Result<Bytes>> MemorySource::read(ByteRange range, Cancel cancel) {
    CO_TRY(cancel.check());
    CO_TRY(check_range(range, bytes_.size()));
    const auto begin = bytes_.begin() + ptrdiff_t(range.offset);
    co_return Bytes(begin, begin + ptrdiff_t(range.size));
}

}  // namespace lapidary
