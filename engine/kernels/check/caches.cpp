#include "kernels/check/caches.h"

#include <cstring>

#include "base/half.h"

namespace lapidary::kernels::check {
namespace {

constexpr size_t kMargin = 16;  // elements

float stored(bool half, double value) {
    return half ? f16_to_f32(f32_to_f16(float(value))) : float(value);
}

}  // namespace

void Cache::fill(Random& random) {
    values = random.floats(size_t(ring) * kv_heads * dim);
    for (float& value : values) value = stored(half, double(value));
}

void Cache::put(uint32_t position, uint32_t kv_head, std::span<const double> row) {
    const size_t at = row_at(position, kv_head);
    for (size_t i = 0; i < row.size(); ++i) values[at + i] = stored(half, row[i]);
}

Array Cache::array() const {
    const size_t bytes = half ? 2 : 4;
    Array out{.before = std::vector<uint8_t>((values.size() + kMargin) * bytes, 0x7B),
              .element = half ? Element::f16 : Element::f32};
    for (size_t i = 0; i < values.size(); ++i) {
        const uint16_t packed = f32_to_f16(values[i]);
        if (half) {
            std::memcpy(&out.before[2 * i], &packed, 2);
        } else {
            std::memcpy(&out.before[4 * i], &values[i], 4);
        }
    }
    out.expected.assign(values.size() + kMargin, kUntouched);
    return out;
}

Found attend(std::span<const double> q, const Cache& keys, const Cache& values, uint32_t kv_head, uint32_t begin,
             uint32_t end) {
    std::vector<double> weights;
    for (uint32_t p = begin; p < end; ++p) {
        double score = 0;
        const auto key = keys.row(p, kv_head);
        for (size_t i = 0; i < q.size(); ++i) score += q[i] * double(key[i]);
        weights.push_back(score);
    }
    Found out{.values = std::vector<double>(q.size()), .largest = std::ranges::max(weights)};
    for (uint32_t p = begin; p < end; ++p) {
        const double weight = std::exp(weights[p - begin] - out.largest);
        out.sum += weight;
        const auto value = values.row(p, kv_head);
        for (size_t i = 0; i < q.size(); ++i) out.values[i] += weight * double(value[i]);
    }
    return out;
}

Parts random_parts(Random& random, uint32_t heads, uint32_t dim, uint32_t most, uint32_t splits) {
    constexpr float kPoison = 1e6f;
    Parts out{.values = random.floats(size_t(heads) * most * dim),
              .stats = std::vector<float>(size_t(heads) * most * 2, kPoison),
              .together = {}};
    for (size_t head = 0; head < heads; ++head) {
        const size_t first = head * most;
        double largest = -1e30;
        for (size_t s = first; s < first + splits; ++s) {
            out.stats[2 * s] = random.uniform(-8, 8);
            out.stats[2 * s + 1] = random.uniform(1, 5);
            largest = std::max(largest, double(out.stats[2 * s]));
        }
        double total = 0;
        std::vector<double> sums(dim);
        for (size_t s = first; s < first + splits; ++s) {
            const double weight = std::exp(double(out.stats[2 * s]) - largest);
            total += weight * double(out.stats[2 * s + 1]);
            for (size_t i = 0; i < dim; ++i) sums[i] += weight * double(out.values[s * dim + i]);
        }
        for (const double sum : sums) out.together.push_back(sum / total);
    }
    return out;
}

}  // namespace lapidary::kernels::check
