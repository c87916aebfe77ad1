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
    uint32_t position = 0;  // of the first token
    uint32_t tokens = 0;
    uint32_t ring = 0;    // positions the cache holds
    uint32_t window = 0;  // 0: all keys are seen
    KvFormat kv = KvFormat::f32;
    uint32_t rows = 4;                   // queries of a workgroup
    std::vector<VisibleRow> table = {};  // what the rows see, in their order; empty: what text sees
    uint32_t sequences = 1;
    std::string_view what = {};  // there is in the table
    bool canvas = false;

    [[nodiscard]] uint32_t stride() const { return (heads + 2 * kv_heads) * dim; }
};

// What a row of text sees.
VisibleRow text_row(uint32_t position, uint32_t window) {
    const uint32_t end = position + 1;
    return {.position = position, .first = window > 0 && end > window ? end - window : 0, .end = end};
}

// step, qkv: [tokens, stride] with q first, k_cache, v_cache, y: [tokens, heads, dim], what the rows see
std::vector<Array> arrays_of(const Shape& s, Random& random) {
    const std::vector<float> qkv = random.floats(size_t(s.tokens) * s.stride());
    // Of each sequence by itself.
    std::vector<Cache> keys(s.sequences, Cache{.ring = s.ring, .kv_heads = s.kv_heads, .dim = s.dim, .kv = s.kv});
    std::vector<Cache> values = keys;
    std::vector<Array> k_caches;
    std::vector<Array> v_caches;
    for (uint32_t i = 0; i < s.sequences; ++i) {
        keys[i].fill(random);
        values[i].fill(random);
        k_caches.push_back(keys[i].array());
        v_caches.push_back(values[i].array());
    }
    Array y = written(random, size_t(s.tokens) * s.heads * s.dim);
    for (uint32_t t = 0; t < s.tokens; ++t) {
        VisibleRow row = s.table.empty() ? text_row(s.position + t, s.window) : s.table[t];
        if (s.canvas) {
            row.first = text_row(s.position, s.window).first;
            row.end = s.position + s.tokens;
        }
        for (uint32_t head = 0; head < s.heads; ++head) {
            const auto query = std::span(qkv).subspan(size_t(t) * s.stride() + head * s.dim, s.dim);
            const std::vector<double> q(query.begin(), query.end());
            const Found found =
                attend(q, keys[row.sequence], values[row.sequence], head / (s.heads / s.kv_heads), row.first, row.end);
            const size_t at = (size_t(t) * s.heads + head) * s.dim;
            for (size_t i = 0; i < s.dim; ++i) y.expected[at + i] = found.values[i] / found.sum;
        }
    }
    return {step(s.position, s.tokens), given(qkv),   joined(k_caches),
            joined(v_caches),           std::move(y), given(std::span(s.table))};
}

Case case_of(const Shape& s) {
    std::string shape =
        format("{}/{} heads of {}, {} tokens at {}, ring {}", s.heads, s.kv_heads, s.dim, s.tokens, s.position, s.ring);
    if (s.window > 0) shape += format(", window {}", s.window);
    if (!s.what.empty()) shape += format(", {}", s.what);
    shape += format(", {}, {} at a time", kv_format_name(s.kv), s.rows);
    return {.shape = std::move(shape),
            .kv = s.kv,
            .limit = 4e-6,
            .launches = {{.op = [s](const Target& target, Tensors t) -> Result<Dispatch> {
                              TRY(check_visible(s.table, {.ring = s.ring,
                                                          .sequences = s.sequences,
                                                          .queries = s.rows,
                                                          .queries_per_key = s.heads / s.kv_heads}));
                              return FlashPrefill{
                                  .shape = {.heads = s.heads, .kv_heads = s.kv_heads, .head_dim = s.dim},
                                  .qkv = with_stride(t[1], s.stride()),
                                  .y = t[4],
                                  .kv = {.k = t[2], .v = t[3], .ring = s.ring, .sequences = s.sequences},
                                  .visible = {.window = s.window,
                                              .rows = s.table.empty() ? gpu::Tensor() : t[5],
                                              .canvas = s.canvas},
                                  .rows = s.tokens + 1,
                                  .queries = s.rows}
                                  .dispatch(target);
                          },
                          .grid = Grid{s.kv_heads, ceil_div((s.tokens + 1) * s.heads / s.kv_heads, s.rows) + 1}}},
            .arrays = [s](Random& random) { return arrays_of(s, random); }};
}

struct Image {
    uint32_t begin;
    uint32_t end;
    bool whole;  // its rows see all of it; otherwise only as much of what came before them as the window lets them
};

// A text with an image in it. Rows of the image see its end, and text sees what text always does.
Shape with_image(Shape s, Image image) {
    for (uint32_t p = s.position; p < s.position + s.tokens; ++p) {
        VisibleRow row = text_row(p, s.window);
        if (p >= image.begin && p < image.end) {
            row.end = image.end;
            if (image.whole) row.first = std::min(row.first, image.begin);
        }
        s.table.push_back(row);
    }
    s.what = image.whole ? "an image" : "an image as the window lets it be seen";
    return s;
}

struct Text {
    uint32_t position;
    uint32_t tokens;
    uint32_t sequence;
};

// Several texts in one block. The step says something that is true of none of them.
Shape with_texts(Shape s, std::initializer_list<Text> texts) {
    for (const Text& text : texts) {
        for (uint32_t t = 0; t < text.tokens; ++t) {
            VisibleRow row = text_row(text.position + t, s.window);
            row.sequence = text.sequence;
            s.table.push_back(row);
        }
    }
    s.tokens = uint32_t(s.table.size());
    s.position = 999;
    s.sequences = uint32_t(texts.size());
    s.what = "several texts";
    return s;
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
    // A canvas: all of it and what its first row sees, in a ring that has been filled and in one that has not.
    Shape canvas{
        .heads = 4, .kv_heads = 2, .dim = 64, .position = 70, .tokens = 16, .ring = 60, .window = 33, .rows = 8};
    canvas.canvas = true;
    canvas.what = "a canvas";
    add(true, canvas);
    canvas.position = 5;
    add(false, canvas);
    canvas.kv = KvFormat::i16;
    canvas.window = 0;
    add(false, canvas);
    // An image whose rows see one another, through a window that is longer than it, or shorter: then its last rows see all
    // of it or not, as models differ.
    const Shape image{
        .heads = 4, .kv_heads = 2, .dim = 64, .position = 60, .tokens = 33, .ring = 70, .window = 33, .rows = 8};
    add(false, with_image(image, {.begin = 66, .end = 86, .whole = false}));
    for (const bool whole : {false, true}) {
        for (const KvFormat kv : {KvFormat::f32, KvFormat::i16, KvFormat::q8}) {
            Shape narrow = image;
            narrow.window = 12;
            narrow.kv = kv;
            if (kv == KvFormat::f32 || whole) add(false, with_image(narrow, {.begin = 66, .end = 86, .whole = whole}));
        }
    }
    // On a layer that sees everything, from the beginning; more keys than a tile has.
    add(false, with_image({.heads = 8, .kv_heads = 1, .dim = 128, .position = 0, .tokens = 90, .ring = 96},
                          {.begin = 3, .end = 83, .whole = true}));
    // Two texts in one block, of which the second has the cache's first part. One has passed the end of its ring.
    for (const KvFormat kv : {KvFormat::f32, KvFormat::f16, KvFormat::i16, KvFormat::q8}) {
        add(false,
            with_texts({.heads = 4, .kv_heads = 2, .dim = 64, .ring = 48, .window = 33, .kv = kv},
                       {{.position = 100, .tokens = 6, .sequence = 1}, {.position = 7, .tokens = 9, .sequence = 0}}));
    }
    // Workgroups that take parts of rows.
    add(false,
        with_texts({.heads = 6, .kv_heads = 1, .dim = 40, .ring = 200, .kv = KvFormat::i16, .rows = 8},
                   {{.position = 150, .tokens = 4, .sequence = 0}, {.position = 0, .tokens = 5, .sequence = 1}}));
    return out;
}

}  // namespace lapidary::kernels::check::flash_prefill_cases
