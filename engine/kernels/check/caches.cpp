#include "kernels/check/caches.h"

#include <cstring>

#include "base/half.h"

namespace lapidary::kernels::check {
namespace {

constexpr size_t kMarginWords = 16;
constexpr size_t kSpan = 32;  // elements that share a scale in q8

template <class T>
T at(const uint8_t* from) {
    T value;
    std::memcpy(&value, from, sizeof value);
    return value;
}

template <class T>
void store(uint8_t* to, T value) {
    std::memcpy(to, &value, sizeof value);
}

float largest_of(std::span<const float> row) {
    float out = 0;
    for (const float value : row) out = std::max(out, std::abs(value));
    return out;
}

// The nearest whole number to value / scale, the even one where two are as near.
int32_t whole(float value, float scale, float most) {
    return int32_t(std::clamp(std::nearbyint(value / (scale > 0 ? scale : 1)), -most, most));
}

float value_at(KvFormat kv, const uint8_t* bytes, const uint8_t* scales, size_t i) {
    switch (kv) {
        case KvFormat::f32: return at<float>(bytes + 4 * i);
        case KvFormat::f16: return f16_to_f32(at<uint16_t>(bytes + 2 * i));
        case KvFormat::i16: return float(int32_t(at<uint16_t>(bytes + 2 * i)) - 32768) * at<float>(scales);
        case KvFormat::q8: return float(at<int8_t>(bytes + i)) * f16_to_f32(at<uint16_t>(scales + 2 * (i / kSpan)));
    }
    return 0;
}

// Whether a number whose neighbours are `spacing` apart is as near to two of them, as far as f32 can tell.
bool between(double value, double spacing) {
    constexpr double kOff = 6e-7;  // a few roundings
    const double places = std::abs(value) / spacing;
    return std::abs(places - std::floor(places) - 0.5) * spacing < kOff;
}

bool half_undecided(double value) {
    const double size = std::abs(value);
    if (size < 0x1p-8) return false;  // of no weight
    return between(size, std::ldexp(1.0, std::ilogb(size) - 10));
}

// The scale is undecided where its last places are.
bool span_undecided(std::span<const double> span) {
    double peak = 0;
    for (const double value : span) peak = std::max(peak, std::abs(value));
    if (peak == 0) return false;
    const double spacing = std::ldexp(1.0, std::ilogb(peak / 127) - 10);
    if (between(peak, 127 * spacing)) return true;
    const auto scale = double(f16_to_f32(f32_to_f16(float(peak / 127))));
    return std::ranges::any_of(span, [&](double value) { return between(value, scale); });
}

}  // namespace

void pack_row(KvFormat kv, std::span<const float> row, uint8_t* bytes, uint8_t* scales) {
    switch (kv) {
        case KvFormat::f32: std::memcpy(bytes, row.data(), row.size_bytes()); return;
        case KvFormat::f16:
            for (size_t i = 0; i < row.size(); ++i) store(bytes + 2 * i, f32_to_f16(row[i]));
            return;
        case KvFormat::i16: {
            const float scale = largest_of(row) / 32767;
            store(scales, scale);
            for (size_t i = 0; i < row.size(); ++i) {
                store(bytes + 2 * i, uint16_t(whole(row[i], scale, 32767) + 32768));
            }
            return;
        }
        case KvFormat::q8:
            for (size_t first = 0; first < row.size(); first += kSpan) {
                const auto span = row.subspan(first, std::min(kSpan, row.size() - first));
                const uint16_t half = f32_to_f16(std::min(largest_of(span) / 127, 65504.0f));
                store(scales + 2 * (first / kSpan), half);
                for (size_t i = 0; i < span.size(); ++i) {
                    store(bytes + first + i, int8_t(whole(span[i], f16_to_f32(half), 127)));
                }
            }
            return;
    }
}

std::vector<float> unpacked(const CacheLayout& layout, std::span<const uint8_t> bytes) {
    const KvRow size = kv_row(layout.kv, layout.dim);
    std::vector<float> out;
    out.reserve(layout.rows * layout.dim);
    for (size_t row = 0; row < layout.rows; ++row) {
        const uint8_t* scales = bytes.data() + layout.rows * size.bytes + row * size.scale_bytes;
        for (size_t i = 0; i < layout.dim; ++i) {
            out.push_back(value_at(layout.kv, bytes.data() + row * size.bytes, scales, i));
        }
    }
    return out;
}

double stored_limit(KvFormat kv) {
    switch (kv) {
        case KvFormat::f32: return 1e-5;
        case KvFormat::f16: return 1e-4;
        case KvFormat::i16: return 3e-5;
        case KvFormat::q8: return 2.5e-3;
    }
    return 0;
}

double own_row_limit(KvFormat kv) {
    return kv == KvFormat::i16 ? 1e-4 : 4e-6;
}

bool undecided(KvFormat kv, std::span<const double> row) {
    if (kv == KvFormat::f16) return std::ranges::any_of(row, half_undecided);
    if (kv != KvFormat::q8) return false;
    for (size_t first = 0; first < row.size(); first += kSpan) {
        if (span_undecided(row.subspan(first, std::min(kSpan, row.size() - first)))) return true;
    }
    return false;
}

void Cache::fill(Random& random) {
    const KvRow size = kv_row(kv, dim);
    const size_t rows = layout().rows;
    bytes.assign(rows * (size.bytes + size.scale_bytes), 0);
    for (size_t row = 0; row < rows; ++row) {
        pack_row(kv, random.floats(dim), bytes.data() + row * size.bytes,
                 bytes.data() + rows * size.bytes + row * size.scale_bytes);
    }
    values = unpacked(layout(), bytes);
}

void Cache::put(uint32_t position, uint32_t kv_head, std::span<const double> row) {
    const KvRow size = kv_row(kv, dim);
    const std::vector<float> narrow(row.begin(), row.end());
    std::vector<uint8_t> packed(size.bytes + size.scale_bytes);
    pack_row(kv, narrow, packed.data(), packed.data() + size.bytes);
    std::ranges::copy(unpacked({.kv = kv, .rows = 1, .dim = dim}, packed),
                      values.begin() + ptrdiff_t(row_at(position, kv_head)));
}

void Cache::expect(Array& array, uint32_t position, uint32_t kv_head) const {
    std::ranges::copy(row(position, kv_head), array.expected.begin() + ptrdiff_t(row_at(position, kv_head)));
}

Array Cache::array() const {
    Array out{.before = bytes, .element = Element::cache, .cache = layout()};
    out.before.insert(out.before.end(), 4 * kMarginWords, 0x7B);
    out.expected.assign(values.size() + kMarginWords, kUntouched);
    return out;
}

Array joined(std::span<const Array> caches) {
    Array out = caches.front();
    for (const Array& one : caches.subspan(1)) {
        const auto append = [](auto& to, size_t at, const auto& from, size_t begin, size_t end) {
            to.insert(to.begin() + ptrdiff_t(at), from.begin() + ptrdiff_t(begin), from.begin() + ptrdiff_t(end));
        };
        const size_t row_bytes = kv_row(out.cache.kv, out.cache.dim).bytes;
        const size_t rows_end = one.cache.rows * row_bytes;
        append(out.before, out.before.size() - 4 * kMarginWords, one.before, rows_end,
               one.before.size() - 4 * kMarginWords);
        append(out.before, out.cache.rows * row_bytes, one.before, 0, rows_end);
        append(out.expected, out.expected.size() - kMarginWords, one.expected, 0, one.expected.size() - kMarginWords);
        out.cache.rows += one.cache.rows;
    }
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
    Found out{.values = std::vector<double>(q.size()), .max = std::ranges::max(weights)};
    for (uint32_t p = begin; p < end; ++p) {
        const double weight = std::exp(weights[p - begin] - out.max);
        out.sum += weight;
        const auto value = values.row(p, kv_head);
        for (size_t i = 0; i < q.size(); ++i) out.values[i] += weight * double(value[i]);
    }
    return out;
}

Splits random_splits(Random& random, uint32_t heads, uint32_t dim, uint32_t max_splits, uint32_t splits) {
    constexpr float kPoison = 1e6f;
    Splits out{.values = random.floats(size_t(heads) * max_splits * dim),
               .stats = std::vector<float>(size_t(heads) * max_splits * 2, kPoison),
               .merged = {}};
    for (size_t head = 0; head < heads; ++head) {
        const size_t first = head * max_splits;
        double max = -1e30;
        for (size_t s = first; s < first + splits; ++s) {
            out.stats[2 * s] = random.uniform(-8, 8);
            out.stats[2 * s + 1] = random.uniform(1, 5);
            max = std::max(max, double(out.stats[2 * s]));
        }
        double total = 0;
        std::vector<double> sums(dim);
        for (size_t s = first; s < first + splits; ++s) {
            const double weight = std::exp(double(out.stats[2 * s]) - max);
            total += weight * double(out.stats[2 * s + 1]);
            for (size_t i = 0; i < dim; ++i) sums[i] += weight * double(out.values[s * dim + i]);
        }
        for (const double sum : sums) out.merged.push_back(sum / total);
    }
    return out;
}

}  // namespace lapidary::kernels::check
