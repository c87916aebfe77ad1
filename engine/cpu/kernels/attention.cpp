// Heads: norms, rotation, what is stored, and softmax(q · Kᵀ) · V.
#include "cpu/kernels/kernels.h"
#include "cpu/kernels/math.h"

namespace lapidary::cpu {
namespace {

// y = rms(x; w); the two may be the same.
void norm_head(const float* x, const float* w, uint32_t n, float eps, float* y) {
    const float scale = 1.0f / __builtin_sqrtf(dot_floats(x, x, n) / float(n) + eps);
    for (uint32_t i = 0; i < n; ++i) y[i] = x[i] * scale * (w == nullptr ? 1.0f : w[i]);
}

void rotate(float* x, const Turn* turns, uint32_t half) {
    for (uint32_t i = 0; i < half; ++i) {
        const float a = x[i];
        const float b = x[i + half];
        x[i] = a * turns[i].cosine - b * turns[i].sine;
        x[i + half] = a * turns[i].sine + b * turns[i].cosine;
    }
}

}  // namespace

// Item: a head of a row; queries, then keys, then values.
void heads(const Memory& memory, const HeadsOp& op, const Step& step, Part part) {
    const uint32_t queries = op.with_queries != 0 ? op.heads : 0;
    const uint32_t stored = op.keys != 0 ? op.kv_heads : 0;
    const uint32_t each = queries + 2 * stored;
    const uint32_t n = op.head_dim;
    const size_t kv_width = size_t(op.kv_heads) * n;
    for (uint32_t item = part.first; item < part.end; ++item) {
        const uint32_t t = item / each;
        uint32_t head = item % each;
        float* row = memory.row(op.qkv, t);
        const Turn* turns = memory.at<const Turn>(op.angles) + size_t(t) * (n / 2);
        const size_t place = size_t((step.position + t) % op.ring) * kv_width;
        if (head < queries) {
            float* q = row + size_t(head) * n;
            norm_head(q, memory.floats(op.q_norm), n, op.eps, q);
            rotate(q, turns, n / 2);
            continue;
        }
        head -= queries;
        const float* keys = row + size_t(op.heads) * n;
        if (head < stored) {
            float* to = memory.at<float>(op.keys) + place + size_t(head) * n;
            norm_head(keys + size_t(head) * n, memory.floats(op.k_norm), n, op.eps, to);
            rotate(to, turns, n / 2);
            continue;
        }
        head -= stored;
        const float* value = (op.values_are_keys != 0 ? keys : keys + kv_width) + size_t(head) * n;
        float* to = memory.at<float>(op.values) + place + size_t(head) * n;
        if (op.norms_values != 0) {
            norm_head(value, nullptr, n, op.eps, to);
        } else {
            __builtin_memcpy(to, value, 4 * size_t(n));
        }
    }
}

// Item: the heads of a row that share keys and values. Keys come in tiles, and what was summed up is scaled down when a later one
// is larger.
void attend(const Memory& memory, const AttendOp& op, const Step& step, Part part) {
    constexpr uint32_t kTile = 64;
    constexpr uint32_t kMost = 16;  // heads at a time
    const uint32_t n = op.head_dim;
    const uint32_t group = op.heads / op.kv_heads;
    const size_t stride = size_t(op.kv_heads) * n;
    for (uint32_t item = part.first; item < part.end; ++item) {
        const uint32_t t = item / op.kv_heads;
        const uint32_t kv = item % op.kv_heads;
        uint32_t end = step.position + t + 1;
        uint32_t begin = op.window != 0 && end > op.window ? end - op.window : 0;
        if (op.sees != 0) {
            const uint32_t* sight = memory.at<const uint32_t>(op.sees) + 2 * size_t(t);
            begin = sight[0];
            end = sight[1];
        }
        const float* keys = memory.at<const float>(op.keys) + size_t(kv) * n;
        const float* values = memory.at<const float>(op.values) + size_t(kv) * n;
        for (uint32_t first = 0; first < group; first += kMost) {
            const uint32_t count = group - first < kMost ? group - first : kMost;
            const float* q = memory.row(op.q, t) + (size_t(kv) * group + first) * n;
            float* y = memory.row(op.y, t) + (size_t(kv) * group + first) * n;
            float largest[kMost], sums[kMost];
            for (uint32_t head = 0; head < count; ++head) largest[head] = -__builtin_inff(), sums[head] = 0;
            for (uint32_t i = 0; i < count * n; ++i) y[i] = 0;
            for (uint32_t from = begin; from < end; from += kTile) {
                const uint32_t tile = end - from < kTile ? end - from : kTile;
                float scores[kMost][kTile];
                size_t places[kTile];
                for (uint32_t k = 0; k < tile; ++k) places[k] = size_t((from + k) % op.ring) * stride;
                for (uint32_t head = 0; head < count; ++head) {
                    dots(q + size_t(head) * n, n, tile, [&](uint32_t k) { return keys + places[k]; }, scores[head]);
                }
                for (uint32_t head = 0; head < count; ++head) {
                    float* s = scores[head];
                    float most = largest[head];
                    for (uint32_t k = 0; k < tile; ++k) most = s[k] > most ? s[k] : most;
                    for (uint32_t k = tile; k % 4 != 0; ++k) s[k] = most - 200;
                    F4 sum{};
                    for (uint32_t k = 0; k < tile; k += 4) {
                        const F4 p = exp4(load<F4>(s + k) - splat(most));
                        store(s + k, p);
                        const uint32_t left = tile - k;
                        sum += left >= 4 ? p : F4{p[0], left > 1 ? p[1] : 0, left > 2 ? p[2] : 0, 0};
                    }
                    float* out = y + size_t(head) * n;
                    if (most > largest[head] && from != begin) {
                        const float shrink = exp4(splat(largest[head] - most))[0];
                        sums[head] *= shrink;
                        for (uint32_t i = 0; i < n; ++i) out[i] *= shrink;
                    }
                    largest[head] = most;
                    sums[head] += sum_of(sum);
                    uint32_t i = 0;
                    for (; i + 16 <= n; i += 16) {
                        F4 a = load<F4>(out + i), b = load<F4>(out + i + 4), c = load<F4>(out + i + 8),
                           d = load<F4>(out + i + 12);
                        for (uint32_t k = 0; k < tile; ++k) {
                            const float* v = values + places[k] + i;
                            const F4 p = splat(s[k]);
                            a = madd(p, load<F4>(v), a);
                            b = madd(p, load<F4>(v + 4), b);
                            c = madd(p, load<F4>(v + 8), c);
                            d = madd(p, load<F4>(v + 12), d);
                        }
                        store(out + i, a);
                        store(out + i + 4, b);
                        store(out + i + 8, c);
                        store(out + i + 12, d);
                    }
                    for (; i < n; ++i) {
                        for (uint32_t k = 0; k < tile; ++k) {
                            out[i] += s[k] * values[places[k] + i];
                        }
                    }
                }
            }
            for (uint32_t head = 0; head < count; ++head) {
                for (uint32_t i = 0; i < n; ++i) y[size_t(head) * n + i] /= sums[head];
            }
        }
    }
}

}  // namespace lapidary::cpu
