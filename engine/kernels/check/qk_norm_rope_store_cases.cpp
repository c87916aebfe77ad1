#include <array>

#include "kernels/attention/qk_norm_rope_store.h"
#include "kernels/check/caches.h"
#include "kernels/check/norms.h"
#include "kernels/check/suites.h"

namespace lapidary::kernels::check::qk_norm_rope_store_cases {
namespace {

struct Shape {
    uint32_t heads;
    uint32_t kv_heads;  // 0: the layer uses another one's keys and values
    uint32_t dim;
    uint32_t position;
    uint32_t tokens;
    uint32_t ring;
    KvFormat kv = KvFormat::f32;
    bool raw_keys = false;  // values are the keys before their norm
    bool norms_values = true;

    [[nodiscard]] uint32_t k_offset() const { return heads * dim; }
    [[nodiscard]] uint32_t v_offset() const { return (heads + (raw_keys ? 0 : kv_heads)) * dim; }
    [[nodiscard]] uint32_t stride() const { return v_offset() + kv_heads * dim; }
};

// step, norms: [2, dim], frequencies, qkv: [tokens, stride], k_cache, v_cache: [ring, kv_heads, dim]
std::vector<Array> arrays_with(std::span<const float> norms, const Shape& s, Random& random) {
    const std::vector<float> qkv = random.floats(size_t(s.tokens) * s.stride());
    const auto q_norm = norms.first(s.dim);
    const auto k_norm = norms.last(s.dim);
    Array after = in_place(qkv);
    Cache keys{.ring = s.ring, .kv_heads = s.kv_heads, .dim = s.dim, .kv = s.kv};
    Cache values = keys;
    keys.fill(random);
    values.fill(random);
    Array k_cache = keys.array();
    Array v_cache = values.array();
    for (uint32_t t = 0; t < s.tokens; ++t) {
        const uint32_t position = s.position + t;
        const size_t row = size_t(t) * s.stride();
        const auto head_at = [&](size_t offset, size_t head) {
            return std::span(qkv).subspan(row + offset + head * s.dim, s.dim);
        };
        for (uint32_t head = 0; head < s.heads; ++head) {
            std::vector<double> q = rms_norm(head_at(0, head), q_norm);
            rope(q, position);
            for (size_t i = 0; i < s.dim; ++i) after.expected[row + head * s.dim + i] = q[i];
        }
        for (uint32_t head = 0; head < s.kv_heads; ++head) {
            std::vector<double> k = rms_norm(head_at(s.k_offset(), head), k_norm);
            rope(k, position);
            const auto raw = head_at(s.v_offset(), head);
            const std::vector<double> v =
                s.norms_values ? rms_norm(raw, {}) : std::vector<double>(raw.begin(), raw.end());
            keys.put(position, head, k);
            values.put(position, head, v);
            keys.expect(k_cache, position, head);
            values.expect(v_cache, position, head);
        }
    }
    return {step(s.position, s.tokens), given(norms),       given(frequencies_of(s.dim)),
            std::move(after),           std::move(k_cache), std::move(v_cache)};
}

std::vector<float> norms_for(const Shape& s, Random& random) {
    return random.floats(size_t{2} * s.dim, 0.5f, 1.5f);
}

std::vector<Array> arrays_of(const Shape& s, Random& random) {
    return arrays_with(norms_for(s, random), s, random);
}

Case case_of(const Shape& s) {
    return {.kv = s.kv,
            .limit = 1e-5,
            .launches = {launch([s](Tensors t) {
                return QkNormRopeStore{.shape = {.heads = s.heads, .kv_heads = s.kv_heads, .head_dim = s.dim},
                                       .qkv = with_stride(t[3], s.stride()),
                                       .norms = t[1],
                                       .frequencies = t[2],
                                       .kv = {.k = t[4], .v = t[5], .ring = s.ring},
                                       .owns_kv = s.kv_heads > 0,
                                       .values_are_keys = s.raw_keys,
                                       .norms_values = s.norms_values,
                                       .rows = s.tokens + 1};
            })},
            .arrays = [s](Random& random) { return arrays_of(s, random); }};
}

Case described(const Shape& s) {
    Case out = case_of(s);
    out.shape = format("{}/{} heads of {}, {} tokens at {}, ring {}, {}", s.heads, s.kv_heads, s.dim, s.tokens,
                       s.position, s.ring, kv_format_name(s.kv));
    if (s.raw_keys) out.shape += ", values from keys";
    if (!s.norms_values) out.shape += ", values as they are";
    return out;
}

// The first is what is tried at load.
constexpr auto kShapes = std::to_array<Shape>({
    {.heads = 4, .kv_heads = 2, .dim = 256, .position = 61, .tokens = 15, .ring = 64, .kv = kDefaultKvFormat},
    {.heads = 3, .kv_heads = 1, .dim = 512, .position = 100'001, .tokens = 2, .ring = 7, .kv = KvFormat::f16},
    {.heads = 4, .kv_heads = 2, .dim = 256, .position = 61, .tokens = 15, .ring = 64},
    {.heads = 4, .kv_heads = 2, .dim = 256, .position = 61, .tokens = 15, .ring = 64, .kv = KvFormat::q8},
    {.heads = 2, .kv_heads = 2, .dim = 512, .position = 30, .tokens = 3, .ring = 9, .kv = KvFormat::q8},
    {.heads = 2, .kv_heads = 1, .dim = 96, .position = 5, .tokens = 9, .ring = 11, .kv = KvFormat::q8},
    {.heads = 2, .kv_heads = 1, .dim = 40, .position = 5, .tokens = 9, .ring = 11, .kv = KvFormat::i16},
    {.heads = 5, .kv_heads = 0, .dim = 64, .position = 0, .tokens = 1, .ring = 9},
    {.heads = 2, .kv_heads = 2, .dim = 36, .position = 8190, .tokens = 17, .ring = 40, .raw_keys = true},
    {.heads = 3,
     .kv_heads = 1,
     .dim = 64,
     .position = 8,
     .tokens = 5,
     .ring = 20,
     .kv = KvFormat::i16,
     .norms_values = false},
});

// The rows of the two, as one array.
Array rows_of_both(Array rows, const Shape& one, const Array& more, const Shape& other) {
    const auto size_of = [](const Shape& s) { return ptrdiff_t(s.tokens) * s.stride(); };
    constexpr ptrdiff_t kBytes = sizeof(float);
    rows.before.insert(rows.before.begin() + kBytes * size_of(one), more.before.begin(),
                       more.before.begin() + kBytes * size_of(other));
    rows.expected.insert(rows.expected.begin() + size_of(one), more.expected.begin(),
                         more.expected.begin() + size_of(other));
    return rows;
}

// Two texts in one block, the second of which has the cache's first part, and the table that says so. Only where they are
// counts: how far they see is nothing to this kernel.
std::vector<Array> arrays_of_two(const Shape& one, const Shape& other, Random& random) {
    const std::vector<float> norms = norms_for(one, random);
    std::vector<Array> out = arrays_with(norms, one, random);
    const std::vector<Array> more = arrays_with(norms, other, random);
    out[0] = step(999, one.tokens + other.tokens);
    out[3] = rows_of_both(std::move(out[3]), one, more[3], other);
    for (const size_t cache : {size_t{4}, size_t{5}}) out[cache] = joined(std::array{more[cache], out[cache]});
    std::vector<VisibleRow> table;
    for (const Shape* text : {&one, &other}) {
        for (uint32_t p = text->position; p < text->position + text->tokens; ++p) {
            table.push_back({.position = p, .first = p, .end = p + 1, .sequence = text == &one ? 1u : 0u});
        }
    }
    out.push_back(given(std::span<const VisibleRow>(table)));
    return out;
}

// The second text has `tokens` from `position` on.
Case two_texts(const Shape& s, uint32_t position, uint32_t tokens) {
    Shape other = s;
    other.position = position;
    other.tokens = tokens;
    return {.shape = format("{}/{} heads of {}, two texts by a table, {} tokens at {}, {} at {}, ring {}, {}", s.heads,
                            s.kv_heads, s.dim, s.tokens, s.position, tokens, position, s.ring, kv_format_name(s.kv)),
            .kv = s.kv,
            .limit = 1e-5,
            .launches = {launch([s, tokens](Tensors t) {
                return QkNormRopeStore{.shape = {.heads = s.heads, .kv_heads = s.kv_heads, .head_dim = s.dim},
                                       .qkv = with_stride(t[3], s.stride()),
                                       .norms = t[1],
                                       .frequencies = t[2],
                                       .kv = {.k = t[4], .v = t[5], .ring = s.ring, .sequences = 2},
                                       .visible = {.rows = t[6]},
                                       .values_are_keys = s.raw_keys,
                                       .rows = s.tokens + tokens + 1};
            })},
            .arrays = [s, other](Random& random) { return arrays_of_two(s, other, random); }};
}

}  // namespace

std::vector<Case> at_load() {
    return cases_of<Shape>(std::span(kShapes).first(1), case_of, 1);
}

std::vector<Case> all() {
    std::vector<Case> out = cases_of<Shape>(kShapes, described, 4);
    for (const KvFormat kv : kKvFormats) {
        out.push_back(two_texts(
            {.heads = 4, .kv_heads = 2, .dim = 64, .position = 61, .tokens = 7, .ring = 64, .kv = kv}, 130, 9));
    }
    return out;
}

}  // namespace lapidary::kernels::check::qk_norm_rope_store_cases
