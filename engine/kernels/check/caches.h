// Keys and values as the attention kernels read them, and attention to them, said slowly.
#pragma once

#include <algorithm>

#include "kernels/check/case.h"

namespace lapidary::kernels::check {

// The numbers in a cache.
std::vector<float> unpacked(const CacheLayout& layout, std::span<const uint8_t> bytes);

// What a row becomes when it is kept: the nearest numbers of the format. `bytes`, `scales`: where it goes.
void pack_row(KvFormat kv, std::span<const float> row, uint8_t* bytes, uint8_t* scales);

// How far a stored row may be from the one that is expected, which is rounded as it should be: sums in f32 are off by
// some 1e-6, and that is enough to round a few elements the other way. Rounding wrongly is off by several times as much.
double stored_limit(KvFormat kv);

// How far a result may be off because the row it has just stored was rounded the other way. Rows that were in the cache
// before are given to both sides and add nothing.
double own_row_limit(KvFormat kv);

// Whether an element of this row, or a scale, is so close to the middle between two stored values that f32 might round it
// either way: then there is more than one right answer. In i16 some element always is, but it changes next to nothing.
bool undecided(KvFormat kv, std::span<const double> row);

// [ring, kv_heads, dim]; position p is at p mod ring.
struct Cache {
    uint32_t ring;
    uint32_t kv_heads;
    uint32_t dim;
    KvFormat kv = KvFormat::f32;
    std::vector<uint8_t> bytes = {};  // rows, scales. NOLINT(readability-redundant-member-init)
    std::vector<float> values = {};   // what they stand for. NOLINT(readability-redundant-member-init)

    [[nodiscard]] CacheLayout layout() const { return {.kv = kv, .rows = size_t(ring) * kv_heads, .dim = dim}; }

    [[nodiscard]] size_t row_at(uint32_t position, uint32_t kv_head) const {
        return (size_t(position % ring) * kv_heads + kv_head) * dim;
    }
    [[nodiscard]] std::span<const float> row(uint32_t position, uint32_t kv_head) const {
        return std::span(values).subspan(row_at(position, kv_head), dim);
    }
    void fill(Random& random);
    // Makes a row, rounded as the cache rounds it.
    void put(uint32_t position, uint32_t kv_head, std::span<const double> row);
    // Says that the kernel puts this row there.
    void expect(Array& array, uint32_t position, uint32_t kv_head) const;
    // The bytes, with some that must not be touched behind them.
    [[nodiscard]] Array array() const;
};

// Those of several sequences as one: rows of all of them, then the scales of all. Each is as Cache::array() made it.
Array joined(std::span<const Array> caches);

// softmax(q · Kᵀ) · V over the keys [begin, end), before it is divided by the sum.
struct Found {
    std::vector<double> values;  // Σ p · v
    double max = 0;              // of the scores
    double sum = 0;              // Σ p
};
Found attend(std::span<const double> q, const Cache& keys, const Cache& values, uint32_t kv_head, uint32_t begin,
             uint32_t end);

// What the splits of an attention have left, at random (flash_decode.wgsl).
struct Splits {
    std::vector<float> values;   // [heads, max_splits, dim]
    std::vector<float> stats;    // [heads, max_splits, 2]: (max, sum)
    std::vector<double> merged;  // [heads, dim]
};
// `splits` of the `max_splits` there is room for are there; the others hold what must not be read.
Splits random_splits(Random& random, uint32_t heads, uint32_t dim, uint32_t max_splits, uint32_t splits);

// Into how many splits so many keys go, and how many a split has where there is room for all splits (common.wgsl).
inline uint32_t keys_of_a_split(uint32_t window) {
    return window == 0 ? 64 : 32;
}
inline uint32_t attention_splits(uint32_t keys, uint32_t window, uint32_t max_splits) {
    const uint32_t reached = window == 0 ? keys : std::min(keys, window);
    return std::clamp(ceil_div(reached, keys_of_a_split(window)), 1u, max_splits);
}

}  // namespace lapidary::kernels::check
