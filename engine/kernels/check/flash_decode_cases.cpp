#include <algorithm>

#include "kernels/attention/flash_decode.h"
#include "kernels/check/caches.h"
#include "kernels/check/norms.h"
#include "kernels/check/suites.h"

namespace lapidary::kernels::check::flash_decode_cases {
namespace {

struct Shape {
    uint32_t heads;
    uint32_t kv_heads;
    uint32_t dim;
    uint32_t position;
    uint32_t ring;
    uint32_t window = 0;  // 0: all keys are seen
    KvFormat kv = KvFormat::f32;
    bool owns = true;       // false: the layer uses another one's keys and values
    bool raw_keys = false;  // values are the keys before their norm
    bool norms_values = true;
    uint32_t heads_together = 1;  // query heads a workgroup takes
    uint32_t staged_warps = 2;    // whose outputs there is room for
    uint32_t max_splits = 8;      // there is room for

    [[nodiscard]] uint32_t k_offset() const { return heads * dim; }
    [[nodiscard]] uint32_t v_offset() const { return (heads + (raw_keys ? 0 : kv_heads)) * dim; }
    [[nodiscard]] uint32_t stride() const { return v_offset() + kv_heads * dim; }
};

// The token's q, k and v, and what becomes of them: all heads of each, [heads, dim].
struct Token {
    std::vector<float> qkv;
    std::vector<std::vector<double>> q, k, v;
};

Token random_token(const Shape& s, std::span<const float> norms, Random& random) {
    Token out{.qkv = random.floats(s.stride()), .q = {}, .k = {}, .v = {}};
    const auto head_at = [&](size_t offset, size_t head) {
        return std::span(out.qkv).subspan(offset + head * s.dim, s.dim);
    };
    for (uint32_t head = 0; head < s.heads; ++head) {
        out.q.push_back(rms_norm(head_at(0, head), norms.first(s.dim)));
        rope(out.q.back(), s.position);
    }
    for (uint32_t head = 0; head < s.kv_heads; ++head) {
        constexpr int kTries = 1000;
        for (int i = 0; i < kTries; ++i) {
            std::vector<double> k = rms_norm(head_at(s.k_offset(), head), norms.last(s.dim));
            rope(k, s.position);
            const auto raw = head_at(s.v_offset(), head);
            std::vector<double> v = s.norms_values ? rms_norm(raw, {}) : std::vector<double>(raw.begin(), raw.end());
            if (i + 1 == kTries || (!undecided(s.kv, k) && !undecided(s.kv, v))) {
                out.k.push_back(std::move(k));
                out.v.push_back(std::move(v));
                break;
            }
            for (const size_t offset : {s.k_offset(), s.v_offset()}) {
                std::ranges::generate(head_at(offset, head), [&] { return random.uniform(-1, 1); });
            }
        }
    }
    return out;
}

// step, qkv, norms, rope table, k_cache, v_cache, splits: [heads, max_splits, dim], stats: [heads, max_splits, 2]
std::vector<Array> arrays_of(const Shape& s, Random& random) {
    const std::vector<float> norms = random.floats(size_t{2} * s.dim, 0.5f, 1.5f);
    const Token token = random_token(s, norms, random);
    Cache keys{.ring = s.ring, .kv_heads = s.kv_heads, .dim = s.dim, .kv = s.kv};
    Cache values = keys;
    keys.fill(random);
    values.fill(random);
    Array k_cache = keys.array();
    Array v_cache = values.array();
    for (uint32_t head = 0; s.owns && head < s.kv_heads; ++head) {
        keys.put(s.position, head, token.k[head]);
        values.put(s.position, head, token.v[head]);
        keys.expect(k_cache, s.position, head);
        values.expect(v_cache, s.position, head);
    }

    const uint32_t end = s.position + 1;
    const uint32_t begin = s.window > 0 && end > s.window ? end - s.window : 0;
    const uint32_t splits = attention_splits(end, s.window, s.max_splits);
    const uint32_t chunk = std::max(keys_of_a_split(s.window), ceil_div(end - begin, s.max_splits));
    Array splits_left = written(random, size_t(s.heads) * s.max_splits * s.dim);
    Array stats = written(random, size_t(s.heads) * s.max_splits * 2);
    for (uint32_t head = 0; head < s.heads; ++head) {
        for (uint32_t split = 0; split < splits; ++split) {
            const uint32_t first = begin + split * chunk;
            const uint32_t last = std::min(first + chunk, end);
            const uint32_t kv_head = head / (s.heads / s.kv_heads);
            const Found found = attend(token.q[head], keys, values, kv_head, first, last);
            const size_t at = size_t(head) * s.max_splits + split;
            std::ranges::copy(found.values, splits_left.expected.begin() + ptrdiff_t(at * s.dim));
            stats.expected[2 * at] = found.max;
            stats.expected[2 * at + 1] = found.sum;
        }
    }
    return {step(s.position, 1), given(token.qkv),   given(norms),           given(rope_table_of(s.dim, s.position)),
            std::move(k_cache),  std::move(v_cache), std::move(splits_left), std::move(stats)};
}

Case case_of(const Shape& s) {
    return {.kv = s.kv,
            .limit = own_row_limit(s.owns ? s.kv : KvFormat::f32),
            .launches = {launch([s](Tensors t) {
                return FlashDecode{
                    .shape = {.heads = s.heads, .kv_heads = s.kv_heads, .head_dim = s.dim},
                    .qkv = t[1],
                    .norms = t[2],
                    .rope_table = t[3],
                    .kv = {.k = t[4], .v = t[5], .ring = s.ring},
                    .visible = {.window = s.window},
                    .owns_kv = s.owns,
                    .values_are_keys = s.raw_keys,
                    .norms_values = s.norms_values,
                    .max_splits = s.max_splits,
                    .splits = t[6],
                    .stats = t[7],
                    .tiling = FlashDecodeTiling{.heads = s.heads_together, .staged_warps = s.staged_warps}};
            })},
            .arrays = [s](Random& random) { return arrays_of(s, random); }};
}

Case described(const Shape& s) {
    Case out = case_of(s);
    out.shape = format("{}/{} heads of {} by {}, at {}, ring {}, window {}, {} parts at most, {}", s.heads, s.kv_heads,
                       s.dim, s.heads_together, s.position, s.ring, s.window, s.max_splits, kv_format_name(s.kv));
    if (!s.owns) out.shape += ", another layer's keys";
    if (s.raw_keys) out.shape += ", values from keys";
    if (!s.norms_values) out.shape += ", values as they are";
    return out;
}

constexpr Shape kAtLoad{.heads = 4,
                        .kv_heads = 2,
                        .dim = 256,
                        .position = 129,
                        .ring = 600,
                        .kv = kDefaultKvFormat,
                        .heads_together = 2,
                        .staged_warps = 4};

}  // namespace

std::vector<Case> at_load() {
    return cases_of<Shape>({&kAtLoad, 1}, case_of, 1);
}

// Shapes that differ in their position alone chunk a pipeline, and compiling is what takes time.
std::vector<Case> all() {
    std::vector<Case> out = cases_of<Shape>({&kAtLoad, 1}, described, 1);
    const auto add = [&](bool quick, Shape s, std::initializer_list<uint32_t> positions) {
        for (const uint32_t position : positions) {
            s.position = position;
            out.push_back(described(s));
            out.back().quick = quick && position == *positions.begin();
        }
    };
    add(false, kAtLoad, {0, 63, 599});
    // The same in the other formats.
    add(true,
        {.heads = 4, .kv_heads = 2, .dim = 256, .position = 0, .ring = 600, .kv = KvFormat::q8, .heads_together = 2},
        {129, 0, 63, 599});
    // The whole text in the cache: one key, then tiles that are just not full, full, and one more key; many splits.
    add(true,
        {.heads = 4, .kv_heads = 2, .dim = 256, .position = 0, .ring = 600, .kv = KvFormat::f16, .heads_together = 2},
        {129, 0, 62, 63, 64, 599});
    // A ring behind a window, which the text has not filled, passes, has filled several times over.
    add(true,
        {.heads = 3,
         .kv_heads = 1,
         .dim = 64,
         .position = 0,
         .ring = 130,
         .window = 97,
         .owns = false,
         .max_splits = 2},
        {1000, 40, 96, 97, 129, 130});
    // A ring with no room beyond its window: the token's own key takes the place of the one that has just left it.
    add(false,
        {.heads = 4,
         .kv_heads = 1,
         .dim = 128,
         .position = 0,
         .ring = 65,
         .window = 65,
         .heads_together = 2,
         .staged_warps = 8},
        {200, 64, 3});
    // More keys in a split than a tile.
    add(false,
        {.heads = 2,
         .kv_heads = 1,
         .dim = 512,
         .position = 0,
         .ring = 700,
         .kv = KvFormat::f16,
         .raw_keys = true,
         .heads_together = 2,
         .max_splits = 2},
        {650, 127});
    add(false, {.heads = 2, .kv_heads = 2, .dim = 40, .position = 0, .ring = 300, .kv = KvFormat::f16}, {258, 255});
    add(false,
        {.heads = 2, .kv_heads = 1, .dim = 40, .position = 0, .ring = 300, .kv = KvFormat::i16, .norms_values = false},
        {70});
    add(false, {.heads = 2, .kv_heads = 1, .dim = 16, .position = 0, .ring = 80, .max_splits = 6}, {70, 63});
    add(false, {.heads = 1, .kv_heads = 1, .dim = 512, .position = 0, .ring = 70}, {66});
    add(false, {.heads = 1, .kv_heads = 1, .dim = 512, .position = 0, .ring = 70, .kv = KvFormat::q8}, {66});
    add(false, {.heads = 1, .kv_heads = 1, .dim = 512, .position = 0, .ring = 70, .kv = KvFormat::i16}, {66});
    // Rows whose scales do not fill a vec4, in a ring.
    add(false,
        {.heads = 3,
         .kv_heads = 1,
         .dim = 96,
         .position = 0,
         .ring = 130,
         .window = 97,
         .kv = KvFormat::q8,
         .owns = false,
         .max_splits = 2},
        {1000, 40});
    return out;
}

}  // namespace lapidary::kernels::check::flash_decode_cases
