// The table of what each row of a block sees (visible_rows.wgsl): for rows that see more than the keys before them, such as
// those of an image, and for those of several texts.
#pragma once

#include <cstdint>
#include <span>

#include "base/error.h"

namespace lapidary::kernels {

// As the kernels read it.
struct VisibleRow {
    uint32_t position = 0;  // where its key and value go
    uint32_t first = 0;     // the keys that it sees
    uint32_t end = 0;
    uint32_t sequence = 0;

    bool operator==(const VisibleRow&) const = default;
};

// What reads the table. Layers whose rows see different keys, or whose workgroups take other queries, have tables of their own.
struct VisibleReader {
    uint32_t ring = 0;  // of the caches
    uint32_t sequences = 1;
    uint32_t queries = 1;          // that a workgroup takes (flash_prefill_queries)
    uint32_t queries_per_key = 1;  // heads of a row that share a key head
};

// Whether the kernels can read such a table, with the reason why not.
Status check_visible(std::span<const VisibleRow> rows, const VisibleReader& reader);

}  // namespace lapidary::kernels
