#include "kernels/attention/visible_table.h"

#include <algorithm>
#include <vector>

namespace lapidary::kernels {
namespace {

// A row by itself, in caches that keep so many positions up to the `last` one that its sequence has in this block: they are
// all stored before any row looks.
Status check_row(uint32_t at, const VisibleRow& row, uint32_t last, const VisibleReader& reader) {
    if (row.sequence >= reader.sequences) {
        return fail(Code::internal, "row {} is of sequence {}, and the cache has {}", at, row.sequence,
                    reader.sequences);
    }
    if (row.first >= row.end) return fail(Code::internal, "row {} sees no key", at);
    if (row.end > last + 1) {
        return fail(Code::internal, "row {} sees keys up to {}, and its sequence ends at {}", at, row.end, last + 1);
    }
    if (row.first + uint64_t{reader.ring} <= last) {
        return fail(Code::internal, "row {} sees key {}, which is lost when key {} is stored: the cache holds {}", at,
                    row.first, last, reader.ring);
    }
    return {};
}

// A row that a workgroup takes together with the one before it.
Status check_neighbours(uint32_t at, const VisibleRow& before, const VisibleRow& row) {
    if (row.sequence != before.sequence) {
        return fail(Code::internal, "rows {} and {} are of sequences {} and {}, and of one workgroup", at - 1, at,
                    before.sequence, row.sequence);
    }
    if (row.first < before.first || row.end < before.end) {
        return fail(Code::internal, "row {} sees keys {} to {}: an end goes back behind row {}, of the same workgroup",
                    at, row.first, row.end, at - 1);
    }
    return {};
}

}  // namespace

Status check_visible(std::span<const VisibleRow> rows, const VisibleReader& reader) {
    std::vector<uint32_t> last(reader.sequences);
    for (const VisibleRow& row : rows) {
        if (row.sequence < last.size()) last[row.sequence] = std::max(last[row.sequence], row.position);
    }
    for (uint32_t i = 0; i < rows.size(); ++i) {
        const VisibleRow& row = rows[i];
        TRY(check_row(i, row, row.sequence < last.size() ? last[row.sequence] : 0, reader));
        // The last query of the row before and this one's first.
        const uint64_t query = uint64_t{i} * reader.queries_per_key;
        if (i == 0 || query % reader.queries == 0) continue;
        TRY(check_neighbours(i, rows[i - 1], row));
    }
    return {};
}

}  // namespace lapidary::kernels
