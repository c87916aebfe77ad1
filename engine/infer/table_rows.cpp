#include "infer/table_rows.h"

#include <algorithm>

#include "base/all.h"

namespace lapidary::infer {

Task<Result<Bytes>> TableRows::rows(std::span<const int32_t> ids, Cancel cancel) {
    Bytes out;
    const auto put = [&](int32_t id, const Bytes& row) {
        const size_t stride = row.size();
        out.resize(ids.size() * stride);
        for (size_t i = 0; i < ids.size(); ++i) {
            if (ids[i] == id) std::ranges::copy(row, out.begin() + ptrdiff_t(i * stride));
        }
    };
    const auto place = [&](int32_t id) -> Kept& { return kept_[uint32_t(id) % kKept]; };
    // What is known is taken now: while others are read, another task may change what is known.
    std::vector<int32_t> missing;
    for (const int32_t id : ids) {
        if (uint32_t(id) >= rows_) co_return fail(Code::invalid_argument, "there is no row {} in the table", id);
        if (place(id).id == id && !place(id).packed.empty()) {
            put(id, place(id).packed);
        } else if (!std::ranges::contains(missing, id)) {
            missing.push_back(id);
        }
    }
    Status status;
    co_await for_all(missing.size(), kAtOnce, [&](size_t i) -> Task<bool> {
        if (!status) co_return false;
        const int32_t id = missing[i];
        const uint64_t size = row_bytes(type_, cols_);
        auto bytes = co_await source_->read({offset_ + uint64_t(id) * size, size}, cancel);
        if (!bytes) {
            status = std::unexpected(std::move(bytes).error());
            co_return false;
        }
        place(id) = {id, pack_(type_, *bytes, 1, cols_)};
        put(id, place(id).packed);
        co_return true;
    });
    CO_TRY(std::move(status));
    co_return out;
}

}  // namespace lapidary::infer
