#include <algorithm>

#include "kernels/attention/flash_prefill.h"
#include "kernels/check/caches.h"
#include "kernels/check/suites.h"

namespace lapidary::kernels::check::flash_prefill_cases {
namespace {

struct Shape {
    uint32_t heads;
    uint32_t kv_heads;
    uint32_t dim;
    uint32_t position;  // of the first token
    uint32_t tokens;
    uint32_t ring;        // positions the cache holds
    uint32_t window = 0;  // 0: all keys are seen
    KvFormat kv = KvFormat::f32;
    uint32_t rows = 4;  // queries of a workgroup

    [[nodiscard]] uint32_t stride() const { return (heads + 2 * kv_heads) * dim; }
};

// step, qkv: [tokens, stride] with q first, k_cache, v_cache, y: [tokens, heads, dim]
std::vector<Array> arrays_of(const Shape& s, Random& random) {
    const std::vector<float> qkv = random.floats(size_t(s.tokens) * s.stride());
    Cache keys{.ring = s.ring, .kv_heads = s.kv_heads, .dim = s.dim, .kv = s.kv};
    Cache values = keys;
    keys.fill(random);
    values.fill(random);
    Array y = written(random, size_t(s.tokens) * s.heads * s.dim);
    for (uint32_t t = 0; t < s.tokens; ++t) {
        const uint32_t end = s.position + t + 1;
        const uint32_t begin = s.window > 0 && end > s.window ? end - s.window : 0;
        for (uint32_t head = 0; head < s.heads; ++head) {
            const auto row = std::span(qkv).subspan(size_t(t) * s.stride() + head * s.dim, s.dim);
            const std::vector<double> q(row.begin(), row.end());
            const Found found = attend(q, keys, values, head / (s.heads / s.kv_heads), begin, end);
            const size_t at = (size_t(t) * s.heads + head) * s.dim;
            for (size_t i = 0; i < s.dim; ++i) y.expected[at + i] = found.values[i] / found.sum;
        }
    }
    return {step(s.position, s.tokens), given(qkv), keys.array(), values.array(), std::move(y)};
}

Case case_of(const Shape& s) {
    std::string shape =
        format("{}/{} heads of {}, {} tokens at {}, ring {}", s.heads, s.kv_heads, s.dim, s.tokens, s.position, s.ring);
    if (s.window > 0) shape += format(", window {}", s.window);
    shape += format(", {}, {} at a time", kv_format_name(s.kv), s.rows);
    return {.shape = std::move(shape),
            .kv = s.kv,
            .limit = 4e-6,
            .launches = {{.op =
                              [s](const Target& target, Tensors t) {
                                  return FlashPrefill{
                                      .shape = {.heads = s.heads, .kv_heads = s.kv_heads, .head_dim = s.dim},
                                      .qkv = with_stride(t[1], s.stride()),
                                      .y = t[4],
                                      .kv = {.k = t[2], .v = t[3], .ring = s.ring},
                                      .visible = {.window = s.window},
                                      .rows = s.tokens + 1,
                                      .queries = s.rows}
                                      .dispatch(target);
                              },
                          .grid = Grid{s.kv_heads, ceil_div((s.tokens + 1) * s.heads / s.kv_heads, s.rows) + 1}}},
            .arrays = [s](Random& random) { return arrays_of(s, random); }};
}

}  // namespace

std::vector<Case> all() {
    std::vector<Case> out;
    const auto add = [&](bool quick, const Shape& s) {
        out.push_back(case_of(s));
        out.back().quick = quick;
    };
    // The whole text in the cache.
    Shape whole{.heads = 4, .kv_heads = 2, .dim = 256, .position = 40, .tokens = 17, .ring = 64};
    for (const KvFormat kv : kKvFormats) {
        whole.kv = kv;
        add(true, whole);
    }
    whole.kv = KvFormat::f16;
    whole.position = 0;
    whole.tokens = 1;
    add(false, whole);
    Shape wide{.heads = 2, .kv_heads = 2, .dim = 512, .position = 31, .tokens = 2, .ring = 40};
    for (const KvFormat kv : kKvFormats) {
        wide.kv = kv;
        add(false, wide);
    }
    add(false, {.heads = 3, .kv_heads = 1, .dim = 36, .position = 5, .tokens = 15, .ring = 20});
    add(false, {.heads = 3, .kv_heads = 1, .dim = 36, .position = 5, .tokens = 15, .ring = 20, .rows = 8});
    // More keys than a tile has; queries of several tokens and of a part of one's heads together.
    Shape deep{.heads = 6, .kv_heads = 1, .dim = 40, .position = 150, .tokens = 9, .ring = 200, .rows = 8};
    for (const KvFormat kv : {KvFormat::f16, KvFormat::i16}) {
        deep.kv = kv;
        add(kv == KvFormat::i16, deep);
    }
    add(false, {.heads = 20, .kv_heads = 1, .dim = 64, .position = 99, .tokens = 3, .ring = 128, .rows = 8});
    add(false, {.heads = 4,
                .kv_heads = 2,
                .dim = 96,
                .position = 99,
                .tokens = 5,
                .ring = 128,
                .kv = KvFormat::q8,
                .rows = 8});
    // A ring, seen through a window: the text has not reached its end yet, passes it, has filled it several times over.
    Shape ring{.heads = 2, .kv_heads = 1, .dim = 64, .position = 20, .tokens = 15, .ring = 48, .window = 33};
    add(false, ring);
    ring.position = 45;
    add(false, ring);
    ring.position = 200;
    add(true, ring);
    ring.kv = KvFormat::i16;
    add(false, ring);
    ring.kv = KvFormat::q8;
    add(false, ring);
    return out;
}

}  // namespace lapidary::kernels::check::flash_prefill_cases
