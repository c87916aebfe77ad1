// attention_decode — one token: Q, K and V normed and turned, K and V into the cache, then softmax(q · Kᵀ) · V in parts
//
// A workgroup takes kGroup query heads that share a key head, and a part of the keys: a key that was read serves all of
// them. 64 keys at a time: 4 threads a key for the scores; then a thread takes one vec4 of the values of every few keys,
// and the threads of a column add up at the end. What counts is how many loads are on their way together: they come in
// batches. Each part leaves what it found (Σ p · v, the largest score, Σ p) for matvec.wgsl or attention_merge.wgsl.
// qkv: q, then k at kKOffset and v at kVOffset (the same as k's where values are the raw keys). norms: [2, kDim], q's, k's.
// caches: as kv/rows.wgsl has them. kDim: a multiple of 8, up to 512.
// parts: [heads, kMaxSplits, kDim]. stats: [heads, kMaxSplits] of (largest, sum).
// kWindow 0: all keys up to the token; else the last kWindow of them, the token's own included.
// kOwns 0: the layer uses another one's K and V. grid: (heads / kGroup, kMaxSplits).
override kHeads: u32;
override kKvHeads: u32;
override kDim: u32;
override kKOffset: u32 = 0u;
override kVOffset: u32 = 0u;
override kOwns: u32 = 0u;
override kRing: u32;
override kWindow: u32 = 0u;
override kEps: f32 = 1e-6;
override kGroup: u32 = 1u;  // 1, 2 or 4
// kSharers: a power of two, up to kTile, such that kSharers · kDim / (elements in a vec4 of the cache) ≤ kThreads.
override kMaxSplits: u32 = 8u;
const kThreads = 256u;
const kTile = 64u;

@group(0) @binding(0) var<storage, read> step: Step;
@group(0) @binding(1) var<storage, read> qkv: array<f32>;
@group(0) @binding(2) var<storage, read> norms: array<f32>;
@group(0) @binding(3) var<storage, read> rates: array<vec4f>;
@group(0) @binding(4) var<storage, read_write> k_cache: array<vec4u>;
@group(0) @binding(5) var<storage, read_write> v_cache: array<vec4u>;
@group(0) @binding(6) var<storage, read_write> parts: array<vec4f>;
@group(0) @binding(7) var<storage, read_write> stats: array<vec2f>;
override kQueryVecs: u32 = kGroup * kDim / 4u;
override kKeyVecs: u32 = kDim / 4u;
var<workgroup> query: array<vec4f, kQueryVecs>;
var<workgroup> scores: array<vec4f, kTile>;  // of the heads
var<workgroup> scales: array<f32, 4>;
override kScaleVecsOrOne: u32 = max(kScaleVecs, 1u);  // to divide by
override kTileScales: u32 = kTile * kScaleVecsOrOne;
var<workgroup> value_scales: array<vec4u, kTileScales>;  // of the tile's keys

override kSharers: u32 = 16u;  // threads of a column, neighbours: each takes every so manyth key
override kKeysEach: u32 = kTile / kSharers;
const kBatch = 8u;

// 1 / rms of the `lanes` neighbouring threads' head at `base`, in scales[which].
fn norm_scale(base: u32, lane: u32, lanes: u32, t: u32, which: u32) {
    var sum = 0.0;
    for (var i = lane; i < kDim; i += lanes) { sum += qkv[base + i] * qkv[base + i]; }
    let total = sum_lanes(vec4f(sum), t, lanes).x;
    if (lane == 0u) { scales[which] = 1.0 / sqrt(total / f32(kDim) + kEps); }
    workgroupBarrier();
}

// Elements i and i + kDim / 2 of a normed head, turned.
fn turned(base: u32, i: u32, norm: u32, scale: f32) -> vec2f {
    let turn = cos_sin(turns_at(step.position, rates[i]));
    let a = qkv[base + i] * scale * norms[norm + i];
    let b = qkv[base + i + kDim / 2u] * scale * norms[norm + i + kDim / 2u];
    return vec2f(a * turn.x - b * turn.y, a * turn.y + b * turn.x);
}

fn prepare_queries(first_head: u32, t: u32) {
    let lanes = kThreads / kGroup;
    let head = t / lanes;
    let lane = t % lanes;
    let base = (first_head + head) * kDim;
    norm_scale(base, lane, lanes, t, head);
    // Four neighbouring pairs a thread, so that a vec4 has one writer.
    for (var i = 4u * lane; i < kDim / 2u; i += 4u * lanes) {
        let p0 = turned(base, i, 0u, scales[head]);
        let p1 = turned(base, i + 1u, 0u, scales[head]);
        let p2 = turned(base, i + 2u, 0u, scales[head]);
        let p3 = turned(base, i + 3u, 0u, scales[head]);
        let at = (head * kDim + i) / 4u;
        query[at] = vec4f(p0.x, p1.x, p2.x, p3.x);
        query[at + kDim / 8u] = vec4f(p0.y, p1.y, p2.y, p3.y);
    }
    workgroupBarrier();
}

// The token's own key and value into the cache, each by half of the threads. Workgroups that share a key head write the
// same.
fn store_own(kv: u32, t: u32) {
    let lanes = kThreads / 2u;
    let lane = t % lanes;
    let is_key = t < lanes;
    let base = select(kVOffset, kKOffset, is_key) + kv * kDim;
    norm_scale(base, lane, lanes, t, t / lanes);
    if (is_key) {
        for (var i = lane; i < kDim / 2u; i += lanes) {
            let pair = turned(base, i, kDim, scales[0]);
            own[i] = pair.x;
            own[i + kDim / 2u] = pair.y;
        }
    } else {
        for (var i = lane; i < kDim; i += lanes) { own[kDim + i] = qkv[base + i] * scales[1]; }
    }
    workgroupBarrier();
    find_peaks(t / lanes, lane, lanes);
    let row = cache_row(step.position, kv);
    for (var i = lane; i < kRowVecs; i += lanes) {
        let packed = own_vec(t / lanes, i);
        if (is_key) {
            k_cache[row * kRowVecs + i] = packed;
        } else {
            v_cache[row * kRowVecs + i] = packed;
        }
    }
    for (var i = lane; i < kScaleVecs; i += lanes) {
        let packed = own_scales(t / lanes * kSpans, i);
        if (is_key) {
            k_cache[scales_at(row) + i] = packed;
        } else {
            v_cache[scales_at(row) + i] = packed;
        }
    }
    storageBarrier();
    workgroupBarrier();
}

fn dot_heads(at: u32, k: vec4f) -> vec4f {
    var out = vec4f(dot(query[at], k), 0.0, 0.0, 0.0);
    if (kGroup > 1u) { out.y = dot(query[at + kKeyVecs], k); }
    if (kGroup > 2u) {
        out.z = dot(query[at + 2u * kKeyVecs], k);
        out.w = dot(query[at + 3u * kKeyVecs], k);
    }
    return out;
}

fn key_scores(i: u32, k: vec4u, scales: vec4u) -> vec4f {
    if (i >= kRowVecs) { return vec4f(); }
    let run = kv_run(k);
    let at = i * kPerWord;
    var out = dot_heads(at, run.v0);
    if (kPerWord > 1u) { out += dot_heads(at + 1u, run.v1); }
    if (kPerWord > 2u) { out += dot_heads(at + 2u, run.v2) + dot_heads(at + 3u, run.v3); }
    return out * kv_scale(scales, i);
}

// vec4 i + 4 · n of a key; nothing where no thread's i leads to one.
fn key_vec(row: u32, i: u32, n: u32) -> vec4u {
    if (4u * n >= kRowVecs) { return vec4u(); }
    return k_cache[row * kRowVecs + min(i + 4u * n, kRowVecs - 1u)];
}

// The scales of the key's vec4s from i on, which are at most 32: two vec4s of them.
fn key_scale_vec(row: u32, i: u32, n: u32) -> vec4u {
    if (n >= kScaleVecs) { return vec4u(); }
    return k_cache[scales_at(row) + min(i / kVecsAScale + n, kScaleVecsOrOne - 1u)];
}

// q · k of all heads over every fourth vec4 of the key.
fn quarter_scores(row: u32, quarter: u32) -> vec4f {
    var sum = vec4f();
    for (var i = quarter; i < kRowVecs; i += 4u * kBatch) {
        let k0 = key_vec(row, i, 0u);
        let k1 = key_vec(row, i, 1u);
        let k2 = key_vec(row, i, 2u);
        let k3 = key_vec(row, i, 3u);
        let k4 = key_vec(row, i, 4u);
        let k5 = key_vec(row, i, 5u);
        let k6 = key_vec(row, i, 6u);
        let k7 = key_vec(row, i, 7u);
        let s0 = key_scale_vec(row, i, 0u);
        let s1 = select(s0, key_scale_vec(row, i, 1u), kScaleVecs > 1u);
        sum += key_scores(i, k0, s0) + key_scores(i + 4u, k1, s0) + key_scores(i + 8u, k2, s0) +
               key_scores(i + 12u, k3, s0) + key_scores(i + 16u, k4, s1) + key_scores(i + 20u, k5, s1) +
               key_scores(i + 24u, k6, s1) + key_scores(i + 28u, k7, s1);
    }
    return sum;
}

// Σ p · v of the heads over one column: its first four elements, and as many more as a vec4 of the cache has.
struct Column {
    a0: vec4f, a1: vec4f, a2: vec4f, a3: vec4f, b0: vec4f, b1: vec4f, b2: vec4f, b3: vec4f,
    c0: vec4f, c1: vec4f, c2: vec4f, c3: vec4f, d0: vec4f, d1: vec4f, d2: vec4f, d3: vec4f,
}

fn faded(c: Column, f: vec4f) -> Column {
    return Column(c.a0 * f.x, c.a1 * f.y, c.a2 * f.z, c.a3 * f.w, c.b0 * f.x, c.b1 * f.y, c.b2 * f.z, c.b3 * f.w,
                  c.c0 * f.x, c.c1 * f.y, c.c2 * f.z, c.c3 * f.w, c.d0 * f.x, c.d1 * f.y, c.d2 * f.z, c.d3 * f.w);
}

fn with_value(c: Column, p: vec4f, v: vec4u) -> Column {
    let r = kv_run(v);
    var out = c;
    out.a0 += p.x * r.v0;
    out.a1 += p.y * r.v0;
    out.a2 += p.z * r.v0;
    out.a3 += p.w * r.v0;
    if (kPerWord > 1u) {
        out.b0 += p.x * r.v1;
        out.b1 += p.y * r.v1;
        out.b2 += p.z * r.v1;
        out.b3 += p.w * r.v1;
    }
    if (kPerWord > 2u) {
        out.c0 += p.x * r.v2;
        out.c1 += p.y * r.v2;
        out.c2 += p.z * r.v2;
        out.c3 += p.w * r.v2;
        out.d0 += p.x * r.v3;
        out.d1 += p.y * r.v3;
        out.d2 += p.z * r.v3;
        out.d3 += p.w * r.v3;
    }
    return out;
}

struct Batch { v0: vec4u, v1: vec4u, v2: vec4u, v3: vec4u, v4: vec4u, v5: vec4u, v6: vec4u, v7: vec4u }

// Values of the tile's keys first, first + kSharers, …; beyond the last key that one again, with a score of nothing.
fn batch(kv: u32, column: u32, tile: u32, first: u32, last: u32) -> Batch {
    return Batch(value(kv, column, tile, first, 0u, last), value(kv, column, tile, first, 1u, last),
                 value(kv, column, tile, first, 2u, last), value(kv, column, tile, first, 3u, last),
                 value(kv, column, tile, first, 4u, last), value(kv, column, tile, first, 5u, last),
                 value(kv, column, tile, first, 6u, last), value(kv, column, tile, first, 7u, last));
}

fn value(kv: u32, column: u32, tile: u32, first: u32, n: u32, last: u32) -> vec4u {
    if (n >= kKeysEach) { return vec4u(); }
    let key = min(tile + min(first + n * kSharers, kTile - 1u), last - 1u);
    return v_cache[cache_row(key, kv) * kRowVecs + column];
}

// What the value of the tile's key counts for each head, its scale included.
fn score_of(first: u32, n: u32, column: u32) -> vec4f {
    let j = first + n * kSharers;
    if (n >= kKeysEach || j >= kTile) { return vec4f(); }
    if (!kHasScales) { return scores[j]; }
    return scores[j] * kv_scale(value_scales[j * kScaleVecs + column / kVecsAScale], column);
}

fn with_batch(c: Column, column: u32, first: u32, b: Batch) -> Column {
    var out = with_value(c, score_of(first, 0u, column), b.v0);
    out = with_value(out, score_of(first, 1u, column), b.v1);
    out = with_value(out, score_of(first, 2u, column), b.v2);
    out = with_value(out, score_of(first, 3u, column), b.v3);
    out = with_value(out, score_of(first, 4u, column), b.v4);
    out = with_value(out, score_of(first, 5u, column), b.v5);
    out = with_value(out, score_of(first, 6u, column), b.v6);
    return with_value(out, score_of(first, 7u, column), b.v7);
}

// The column's threads added up: one head's outputs.
fn store_head(head: u32, split: u32, t: u32, a: vec4f, b: vec4f, c: vec4f, d: vec4f) {
    let column = t / kSharers;
    let at = ((head * kMaxSplits + split) * kRowVecs + column) * kPerWord;
    let writes = t % kSharers == 0u && column < kRowVecs;
    let first = sum_lanes(a, t, kSharers);
    if (writes) { parts[at] = first; }
    if (kPerWord < 2u) { return; }
    let second = sum_lanes(b, t, kSharers);
    if (writes) { parts[at + 1u] = second; }
    if (kPerWord < 4u) { return; }
    let third = sum_lanes(c, t, kSharers);
    if (writes) { parts[at + 2u] = third; }
    let fourth = sum_lanes(d, t, kSharers);
    if (writes) { parts[at + 3u] = fourth; }
}

@compute @workgroup_size(kThreads)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) t: u32) {
    let end = step.position + 1u;
    let splits = attention_splits(end, kWindow, kMaxSplits);
    if (group.y >= splits) { return; }
    let first_head = group.x * kGroup;
    let kv = first_head / (kHeads / kKvHeads);
    var begin = 0u;
    if (kWindow > 0u && end > kWindow) { begin = end - kWindow; }
    // This part's share of [begin, end).
    let share = (end - begin + splits - 1u) / splits;
    let first = min(begin + group.y * share, end);
    let last = min(first + share, end);

    prepare_queries(first_head, t);
    if (kOwns == 1u && last == end) { store_own(kv, t); }

    let column = min(t / kSharers, kRowVecs - 1u);
    let sharer = t % kSharers;
    let scorer = t % 4u == 0u;  // has the score of its key
    var found = Column();
    var largest = vec4f(-3.0e38);
    var sum = vec4f();  // of this thread's keys
    for (var tile = first; tile < last; tile += kTile) {
        let key = tile + t / 4u;
        var score = quarter_scores(cache_row(min(key, last - 1u), kv), t % 4u);
        // The first values can be on their way while the scores are settled.
        let early = batch(kv, column, tile, sharer, last);
        for (var i = t; i < kTile * kScaleVecs; i += kThreads) {
            let row = cache_row(min(tile + i / kScaleVecsOrOne, last - 1u), kv);
            value_scales[i] = v_cache[scales_at(row) + i % kScaleVecsOrOne];
        }
        score = select(vec4f(-3.0e38), sum_lanes(score, t, 4u), scorer && key < last);
        let next = max(largest, max_workgroup(score, t, kThreads));
        let fade = exp(largest - next);
        largest = next;
        let p = exp(score - next);
        if (scorer) { scores[t / 4u] = p; }
        sum = sum * fade + p;
        found = faded(found, fade);
        workgroupBarrier();
        found = with_batch(found, column, sharer, early);
        for (var j = kBatch; j < kKeysEach; j += kBatch) {
            let more = sharer + j * kSharers;
            found = with_batch(found, column, more, batch(kv, column, tile, more, last));
        }
        workgroupBarrier();
    }
    store_head(first_head, group.y, t, found.a0, found.b0, found.c0, found.d0);
    if (kGroup > 1u) { store_head(first_head + 1u, group.y, t, found.a1, found.b1, found.c1, found.d1); }
    if (kGroup > 2u) {
        store_head(first_head + 2u, group.y, t, found.a2, found.b2, found.c2, found.d2);
        store_head(first_head + 3u, group.y, t, found.a3, found.b3, found.c3, found.d3);
    }
    let total = sum_lanes(sum, t, kThreads);
    if (t != 0u) { return; }
    for (var g = 0u; g < kGroup; g++) {
        stats[(first_head + g) * kMaxSplits + group.y] = vec2f(largest[g], total[g]);
    }
}
