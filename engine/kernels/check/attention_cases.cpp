#include <algorithm>
#include <cstring>

#include "base/half.h"
#include "kernels/check/suites.h"

namespace lapidary::kernels::check {
namespace {

struct Shape {
    uint32_t heads;
    uint32_t kv_heads;
    uint32_t dim;
    uint32_t position;  // of the first token
    uint32_t tokens;
    uint32_t ring;        // positions the cache holds
    uint32_t window = 0;  // 0: all keys are seen
    bool half = false;
    uint32_t splits = 1;

    [[nodiscard]] uint32_t stride() const { return (heads + 2 * kv_heads) * dim; }
};

// Random keys or values, [ring, kv_heads, dim], as the cache holds them.
struct Cache {
    std::vector<float> values;
    Array array;
};

Cache random_cache(const Shape& s, Random& random) {
    Cache out;
    out.values = random.floats(size_t(s.ring) * s.kv_heads * s.dim);
    if (!s.half) {
        out.array = given(out.values);
        return out;
    }
    std::vector<uint8_t> bytes(out.values.size() * 2);
    for (size_t i = 0; i < out.values.size(); ++i) {
        const uint16_t half = f32_to_f16(out.values[i]);
        std::memcpy(&bytes[2 * i], &half, 2);
        out.values[i] = f16_to_f32(half);
    }
    out.array = given(std::move(bytes));
    return out;
}

// softmax(q · Kᵀ) · V for one head of one token: out[dim]
std::vector<double> attend(const Shape& s, std::span<const float> q, const Cache& keys, const Cache& values,
                           uint32_t kv_head, uint32_t position) {
    const uint32_t end = position + 1;
    const uint32_t begin = s.window > 0 && end > s.window ? end - s.window : 0;
    const auto row = [&](const Cache& cache, uint32_t p) {
        return std::span(cache.values).subspan((size_t(p % s.ring) * s.kv_heads + kv_head) * s.dim, s.dim);
    };
    std::vector<double> weights;
    for (uint32_t p = begin; p < end; ++p) {
        double score = 0;
        for (size_t i = 0; i < s.dim; ++i) score += double(q[i]) * double(row(keys, p)[i]);
        weights.push_back(score);
    }
    const double largest = std::ranges::max(weights);
    double sum = 0;
    for (double& weight : weights) sum += weight = std::exp(weight - largest);
    std::vector<double> out(s.dim);
    for (uint32_t p = begin; p < end; ++p) {
        for (size_t i = 0; i < s.dim; ++i) out[i] += weights[p - begin] / sum * double(row(values, p)[i]);
    }
    return out;
}

// step, qkv: [tokens, stride] with q first, k_cache, v_cache, y: [tokens, heads, dim], parts
std::vector<Array> arrays_of(const Shape& s, Random& random) {
    const std::vector<float> qkv = random.floats(size_t(s.tokens) * s.stride());
    Cache keys = random_cache(s, random);
    Cache values = random_cache(s, random);
    Array y = written(random, size_t(s.tokens) * s.heads * s.dim);
    Array parts = written(random, s.splits > 1 ? size_t(s.tokens) * s.heads * s.splits * (s.dim + 2) : 1);
    if (s.splits > 1) parts.expected.clear();  // attention_merge makes y of them
    for (uint32_t t = 0; t < s.tokens; ++t) {
        for (uint32_t head = 0; head < s.heads; ++head) {
            const auto q = std::span(qkv).subspan(size_t(t) * s.stride() + head * s.dim, s.dim);
            const uint32_t kv_head = head / (s.heads / s.kv_heads);
            const auto out = attend(s, q, keys, values, kv_head, s.position + t);
            std::ranges::copy(out, y.expected.begin() + ptrdiff_t((size_t(t) * s.heads + head) * s.dim));
        }
    }
    return {step(s.position, s.tokens), given(qkv),   std::move(keys.array),
            std::move(values.array),    std::move(y), std::move(parts)};
}

Case attention(const Shape& s) {
    std::string shape =
        format("{}/{} heads of {}, {} tokens at {}, ring {}", s.heads, s.kv_heads, s.dim, s.tokens, s.position, s.ring);
    if (s.window > 0) shape += format(", window {}", s.window);
    shape += s.half ? ", f16" : ", f32";
    std::vector<Dispatch> dispatches = {{kAttention,
                                         {{"kHeads", double(s.heads)},
                                          {"kKvHeads", double(s.kv_heads)},
                                          {"kDim", double(s.dim)},
                                          {"kStride", double(s.stride())},
                                          {"kRing", double(s.ring)},
                                          {"kWindow", double(s.window)},
                                          {"kHalf", s.half ? 1.0 : 0.0},
                                          {"kSplits", double(s.splits)}},
                                         {s.heads, s.tokens + (s.splits > 1 ? 0 : 1), s.splits}}};
    if (s.splits > 1) {
        shape += format(", {} parts", s.splits);
        dispatches.push_back({kAttentionMerge,
                              {{"kHeads", double(s.heads)}, {"kDim", double(s.dim)}, {"kSplits", double(s.splits)}},
                              {s.heads, s.tokens, 1},
                              {0, 5, 4}});
    }
    return {
        .shape = std::move(shape), .limit = 1e-5, .dispatches = std::move(dispatches), .arrays = [s](Random& random) {
            return arrays_of(s, random);
        }};
}

}  // namespace

std::vector<Case> attention_cases() {
    std::vector<Case> out;
    const auto add = [&](bool quick, const Shape& s) {
        out.push_back(attention(s));
        out.back().quick = quick;
    };
    // The whole text in the cache.
    Shape whole{.heads = 4, .kv_heads = 2, .dim = 256, .position = 40, .tokens = 17, .ring = 64, .half = true};
    add(true, whole);
    whole.position = 0;
    whole.tokens = 1;
    add(false, whole);
    add(false, {.heads = 2, .kv_heads = 2, .dim = 512, .position = 31, .tokens = 2, .ring = 40});
    add(false, {.heads = 3, .kv_heads = 1, .dim = 36, .position = 5, .tokens = 15, .ring = 20});
    // A ring, seen through a window: the text has not reached its end yet, passes it, has filled it several times over.
    Shape ring{.heads = 2, .kv_heads = 1, .dim = 64, .position = 20, .tokens = 15, .ring = 48, .window = 33};
    add(false, ring);
    ring.position = 45;
    add(false, ring);
    ring.position = 200;
    add(true, ring);
    // The keys shared out: more parts than keys, and more keys than one tile in each.
    Shape split{.heads = 4, .kv_heads = 2, .dim = 64, .position = 2, .tokens = 1, .ring = 400, .splits = 8};
    add(false, split);
    split.position = 333;
    add(true, split);
    add(true, {.heads = 3,
               .kv_heads = 1,
               .dim = 256,
               .position = 1000,
               .tokens = 1,
               .ring = 130,
               .window = 97,
               .half = true,
               .splits = 8});
    return out;
}

}  // namespace lapidary::kernels::check
