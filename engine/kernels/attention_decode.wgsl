// attention_decode — one token: Q, K and V normed and turned, K and V into the cache, then softmax(q · Kᵀ) · V in parts
//
// A workgroup takes kGroup query heads that share a key head, and a part of the keys: a key that was read serves all of
// them. 64 keys at a time: 4 threads a key for the scores; then a thread takes one vec4 of the values of every few keys,
// and the threads of a column add up at the end. What counts is how many loads are on their way together: they come in
// batches. Each part leaves what it found (Σ p · v, the largest score, Σ p) for matvec.wgsl or attention_merge.wgsl.
// qkv: q, then k at kKOffset and v at kVOffset (the same as k's where values are the raw keys). norms: [2, kDim], q's, k's.
// caches: [kRing, kv_heads, kDim]; position p is at p mod kRing. kHalf 1: two f16 a word. kDim: a multiple of 8.
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
override kHalf: u32 = 0u;
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
var<workgroup> own: array<f32, 2u * kDim>;     // the token's key and value
var<workgroup> scores: array<vec4f, kTile>;  // of the heads
var<workgroup> scales: array<f32, 4>;

override kPerKey: u32 = select(4u, 8u, kHalf == 1u);    // elements in a vec4u of the cache
override kRowVecs: u32 = kDim / kPerKey;
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

// vec4 i of the row that begins at `row` of the token's own, as the cache holds it.
fn packed(row: u32, i: u32) -> vec4u {
    let at = row + i * kPerKey;
    if (kHalf == 0u) {
        return bitcast<vec4u>(vec4f(own[at], own[at + 1u], own[at + 2u], own[at + 3u]));
    }
    return vec4u(pack_halves(vec2f(own[at], own[at + 1u])), pack_halves(vec2f(own[at + 2u], own[at + 3u])),
                 pack_halves(vec2f(own[at + 4u], own[at + 5u])), pack_halves(vec2f(own[at + 6u], own[at + 7u])));
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
    let row = ((step.position % kRing) * kKvHeads + kv) * kRowVecs;
    for (var i = lane; i < kRowVecs; i += lanes) {
        if (is_key) {
            k_cache[row + i] = packed(0u, i);
        } else {
            v_cache[row + i] = packed(kDim, i);
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

fn key_scores(i: u32, k: vec4u) -> vec4f {
    if (i >= kRowVecs) { return vec4f(); }
    if (kHalf == 0u) { return dot_heads(i, bitcast<vec4f>(k)); }
    return dot_heads(2u * i, vec4f(unpack2x16float(k.x), unpack2x16float(k.y))) +
           dot_heads(2u * i + 1u, vec4f(unpack2x16float(k.z), unpack2x16float(k.w)));
}

// q · k of all heads over every fourth vec4 of the key.
fn quarter_scores(row: u32, quarter: u32) -> vec4f {
    var sum = vec4f();
    for (var i = quarter; i < kRowVecs; i += 4u * kBatch) {
        let most = kRowVecs - 1u;
        let k0 = k_cache[row + i];
        let k1 = k_cache[row + min(i + 4u, most)];
        let k2 = k_cache[row + min(i + 8u, most)];
        let k3 = k_cache[row + min(i + 12u, most)];
        let k4 = k_cache[row + min(i + 16u, most)];
        let k5 = k_cache[row + min(i + 20u, most)];
        let k6 = k_cache[row + min(i + 24u, most)];
        let k7 = k_cache[row + min(i + 28u, most)];
        sum += key_scores(i, k0) + key_scores(i + 4u, k1) + key_scores(i + 8u, k2) + key_scores(i + 12u, k3) +
               key_scores(i + 16u, k4) + key_scores(i + 20u, k5) + key_scores(i + 24u, k6) + key_scores(i + 28u, k7);
    }
    return sum;
}

// Σ p · v of the heads, over one column: its first four elements and, with halves, the other four.
struct Column { a0: vec4f, a1: vec4f, a2: vec4f, a3: vec4f, b0: vec4f, b1: vec4f, b2: vec4f, b3: vec4f }

fn faded(c: Column, f: vec4f) -> Column {
    return Column(c.a0 * f.x, c.a1 * f.y, c.a2 * f.z, c.a3 * f.w, c.b0 * f.x, c.b1 * f.y, c.b2 * f.z, c.b3 * f.w);
}

fn with_value(c: Column, p: vec4f, v: vec4u) -> Column {
    if (kHalf == 0u) {
        let a = bitcast<vec4f>(v);
        return Column(c.a0 + p.x * a, c.a1 + p.y * a, c.a2 + p.z * a, c.a3 + p.w * a, c.b0, c.b1, c.b2, c.b3);
    }
    let a = vec4f(unpack2x16float(v.x), unpack2x16float(v.y));
    let b = vec4f(unpack2x16float(v.z), unpack2x16float(v.w));
    return Column(c.a0 + p.x * a, c.a1 + p.y * a, c.a2 + p.z * a, c.a3 + p.w * a,
                  c.b0 + p.x * b, c.b1 + p.y * b, c.b2 + p.z * b, c.b3 + p.w * b);
}

struct Batch { v0: vec4u, v1: vec4u, v2: vec4u, v3: vec4u, v4: vec4u, v5: vec4u, v6: vec4u, v7: vec4u }

// Values of the tile's keys first, first + kSharers, …; beyond the last key that one again, with a score of nothing.
fn batch(kv: u32, column: u32, tile: u32, first: u32, last: u32) -> Batch {
    return Batch(value(kv, column, tile, first, last), value(kv, column, tile, first + kSharers, last),
                 value(kv, column, tile, first + 2u * kSharers, last), value(kv, column, tile, first + 3u * kSharers, last),
                 value(kv, column, tile, first + 4u * kSharers, last), value(kv, column, tile, first + 5u * kSharers, last),
                 value(kv, column, tile, first + 6u * kSharers, last), value(kv, column, tile, first + 7u * kSharers, last));
}

fn value(kv: u32, column: u32, tile: u32, j: u32, last: u32) -> vec4u {
    let key = min(tile + min(j, kTile - 1u), last - 1u);
    return v_cache[((key % kRing) * kKvHeads + kv) * kRowVecs + column];
}

fn score_of(j: u32) -> vec4f {
    return select(vec4f(), scores[min(j, kTile - 1u)], j < kTile);
}

fn with_batch(c: Column, first: u32, b: Batch) -> Column {
    var out = with_value(c, score_of(first), b.v0);
    out = with_value(out, score_of(first + kSharers), b.v1);
    out = with_value(out, score_of(first + 2u * kSharers), b.v2);
    out = with_value(out, score_of(first + 3u * kSharers), b.v3);
    out = with_value(out, score_of(first + 4u * kSharers), b.v4);
    out = with_value(out, score_of(first + 5u * kSharers), b.v5);
    out = with_value(out, score_of(first + 6u * kSharers), b.v6);
    return with_value(out, score_of(first + 7u * kSharers), b.v7);
}

// The column's threads added up: one head's outputs.
fn store_head(head: u32, split: u32, t: u32, a: vec4f, b: vec4f) {
    let column = t / kSharers;
    let at = ((head * kMaxSplits + split) * kRowVecs + column) * (kPerKey / 4u);
    let writes = t % kSharers == 0u && column < kRowVecs;
    let first = sum_lanes(a, t, kSharers);
    if (writes) { parts[at] = first; }
    if (kHalf == 0u) { return; }
    let second = sum_lanes(b, t, kSharers);
    if (writes) { parts[at + 1u] = second; }
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
        var score = quarter_scores(((min(key, last - 1u) % kRing) * kKvHeads + kv) * kRowVecs, t % 4u);
        // The first values can be on their way while the scores are settled.
        let early = batch(kv, column, tile, sharer, last);
        score = select(vec4f(-3.0e38), sum_lanes(score, t, 4u), scorer && key < last);
        let next = max(largest, max_workgroup(score, t, kThreads));
        let fade = exp(largest - next);
        largest = next;
        let p = exp(score - next);
        if (scorer) { scores[t / 4u] = p; }
        sum = sum * fade + p;
        found = faded(found, fade);
        workgroupBarrier();
        found = with_batch(found, sharer, early);
        for (var j = kBatch; j < kKeysEach; j += kBatch) {
            let more = sharer + j * kSharers;
            found = with_batch(found, more, batch(kv, column, tile, more, last));
        }
        workgroupBarrier();
    }
    store_head(first_head, group.y, t, found.a0, found.b0);
    if (kGroup > 1u) { store_head(first_head + 1u, group.y, t, found.a1, found.b1); }
    if (kGroup > 2u) {
        store_head(first_head + 2u, group.y, t, found.a2, found.b2);
        store_head(first_head + 3u, group.y, t, found.a3, found.b3);
    }
    let total = sum_lanes(sum, t, kThreads);
    if (t != 0u) { return; }
    for (var g = 0u; g < kGroup; g++) {
        stats[(first_head + g) * kMaxSplits + group.y] = vec2f(largest[g], total[g]);
    }
}
