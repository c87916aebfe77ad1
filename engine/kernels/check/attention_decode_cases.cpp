#include <algorithm>

#include "kernels/check/caches.h"
#include "kernels/check/norms.h"
#include "kernels/check/suites.h"

namespace lapidary::kernels::check::attention_decode_cases {
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
    uint32_t together = 1;  // query heads a workgroup takes
    uint32_t held = 2;      // teams there is room for
    uint32_t most = 8;      // parts there is room for

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
            std::vector<double> v = rms_norm(head_at(s.v_offset(), head), {});
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

// step, qkv, norms, turns, k_cache, v_cache, parts: [heads, most, dim], stats: [heads, most, 2]
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
    const uint32_t splits = attention_splits(end, s.window, s.most);
    const uint32_t share = std::max(keys_a_part(s.window), ceil_div(end - begin, s.most));
    Array parts = written(random, size_t(s.heads) * s.most * s.dim);
    Array stats = written(random, size_t(s.heads) * s.most * 2);
    for (uint32_t head = 0; head < s.heads; ++head) {
        for (uint32_t split = 0; split < splits; ++split) {
            const uint32_t first = begin + split * share;
            const uint32_t last = std::min(first + share, end);
            const uint32_t kv_head = head / (s.heads / s.kv_heads);
            const Found found = attend(token.q[head], keys, values, kv_head, first, last);
            const size_t part = size_t(head) * s.most + split;
            std::ranges::copy(found.values, parts.expected.begin() + ptrdiff_t(part * s.dim));
            stats.expected[2 * part] = found.largest;
            stats.expected[2 * part + 1] = found.sum;
        }
    }
    return {step(s.position, 1), given(token.qkv),   given(norms),     given(turns_of(s.dim, s.position)),
            std::move(k_cache),  std::move(v_cache), std::move(parts), std::move(stats)};
}

Case attention_decode(const Shape& s) {
    return {.kv = s.kv,
            .limit = own_row_limit(s.owns ? s.kv : KvFormat::f32),
            .dispatches = {{kAttentionDecode,
                            {{"kHeads", double(s.heads)},
                             {"kKvHeads", double(s.kv_heads)},
                             {"kDim", double(s.dim)},
                             {"kKOffset", double(s.k_offset())},
                             {"kVOffset", double(s.v_offset())},
                             {"kOwns", s.owns ? 1.0 : 0.0},
                             {"kRing", double(s.ring)},
                             {"kWindow", double(s.window)},
                             {"kEps", kEps},
                             {"kGroup", double(s.together)},
                             {"kHeldTeams", double(s.held)},
                             {"kMaxSplits", double(s.most)}},
                            {s.heads / s.together, s.most, 1}}},
            .arrays = [s](Random& random) { return arrays_of(s, random); }};
}

Case described(const Shape& s) {
    Case out = attention_decode(s);
    out.shape = format("{}/{} heads of {} by {}, at {}, ring {}, window {}, {} parts at most, {}", s.heads, s.kv_heads,
                       s.dim, s.together, s.position, s.ring, s.window, s.most, kv_format_name(s.kv));
    if (!s.owns) out.shape += ", another layer's keys";
    if (s.raw_keys) out.shape += ", values from keys";
    return out;
}

constexpr Shape kAtLoad{.heads = 4,
                        .kv_heads = 2,
                        .dim = 256,
                        .position = 129,
                        .ring = 600,
                        .kv = kDefaultKvFormat,
                        .together = 2,
                        .held = 4};

}  // namespace

std::vector<Case> at_load() {
    return cases_of<Shape>({&kAtLoad, 1}, attention_decode, 1);
}

// Shapes that differ in their position alone share a pipeline, and compiling is what takes time.
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
    add(true, {.heads = 4, .kv_heads = 2, .dim = 256, .position = 0, .ring = 600, .kv = KvFormat::q8, .together = 2},
        {129, 0, 63, 599});
    // The whole text in the cache: one key, then tiles that are just not full, full, and one more key; many parts.
    add(true, {.heads = 4, .kv_heads = 2, .dim = 256, .position = 0, .ring = 600, .kv = KvFormat::f16, .together = 2},
        {129, 0, 62, 63, 64, 599});
    // A ring behind a window, which the text has not filled, passes, has filled several times over.
    add(true,
        {.heads = 3, .kv_heads = 1, .dim = 64, .position = 0, .ring = 130, .window = 97, .owns = false, .most = 2},
        {1000, 40, 96, 97, 129, 130});
    // A ring with no room beyond its window: the token's own key takes the place of the one that has just left it.
    add(false,
        {.heads = 4, .kv_heads = 1, .dim = 128, .position = 0, .ring = 65, .window = 65, .together = 2, .held = 8},
        {200, 64, 3});
    // More keys in a part than a tile.
    add(false,
        {.heads = 2,
         .kv_heads = 1,
         .dim = 512,
         .position = 0,
         .ring = 700,
         .kv = KvFormat::f16,
         .raw_keys = true,
         .together = 2,
         .most = 2},
        {650, 127});
    add(false, {.heads = 2, .kv_heads = 2, .dim = 40, .position = 0, .ring = 300, .kv = KvFormat::f16}, {258, 255});
    add(false, {.heads = 2, .kv_heads = 1, .dim = 16, .position = 0, .ring = 80, .most = 6}, {70, 63});
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
         .most = 2},
        {1000, 40});
    return out;
}

}  // namespace lapidary::kernels::check::attention_decode_cases
