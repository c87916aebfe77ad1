// attention_decode — one token: Q, K and V normed and turned, K and V into the cache, then softmax(q · Kᵀ) · V in parts
//
// A workgroup takes kGroup query heads that share a key head, and a part of the keys: a key that was read serves both. 64
// keys at a time: 4 threads a key for the scores; then a thread takes one vec4 of the values of every few keys, and the
// threads of a column add up at the end. What counts is how many loads are on their way together: they come in batches, and
// the first keys and values are asked for before the queries are ready. Each part leaves what it found (Σ p · v, the
// largest score, Σ p) for matvec.wgsl or attention_merge.wgsl.
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
override kGroup: u32 = 1u;  // 1 or 2
// kSharers: a power of two, up to kTile, such that kSharers · kDim / (elements in a vec4 of the cache) ≤ kThreads.
override kMaxSplits: u32 = 8u;
const kThreads = 256u;
const kTile = 64u;

@group(0) @binding(0) var<storage, read> step: Step;
@group(0) @binding(1) var<storage, read> qkv: array<vec4f>;
@group(0) @binding(2) var<storage, read> norms: array<vec4f>;
@group(0) @binding(3) var<storage, read> rates: array<vec4f>;
@group(0) @binding(4) var<storage, read_write> k_cache: array<vec4u>;
@group(0) @binding(5) var<storage, read_write> v_cache: array<vec4u>;
@group(0) @binding(6) var<storage, read_write> parts: array<vec4f>;
@group(0) @binding(7) var<storage, read_write> stats: array<vec2f>;
override kQueryVecs: u32 = kGroup * kDim / 4u;
override kKeyVecs: u32 = kDim / 4u;
var<workgroup> query: array<vec4f, kQueryVecs>;
var<workgroup> scores: array<vec2f, kTile>;  // of the heads
var<workgroup> scales: array<f32, 4>;
override kScaleVecsOrOne: u32 = max(kScaleVecs, 1u);  // to divide by
override kTileScales: u32 = kTile * kScaleVecsOrOne;
var<workgroup> value_scales: array<vec4u, kTileScales>;  // of the tile's keys

override kSharers: u32 = 16u;  // threads of a column, neighbours: each takes every so manyth key
override kKeysEach: u32 = kTile / kSharers;
const kBatch = 8u;

// A quarter of the threads for each of: two query heads, the token's own key, its own value. A thread norms and turns four
// pairs (element i and i + kDim / 2), so that a vec4 has one writer. Everything is loaded before anything is waited for.
const kRoleThreads = kThreads / 4u;
const kKeyRole = 2u;
const kValueRole = 3u;

fn prepare(first_head: u32, kv: u32, own_too: bool, t: u32) {
    let role = t / kRoleThreads;
    let i = 4u * (t % kRoleThreads);
    let live = i < kDim / 2u && (role < kGroup || (role >= kKeyRole && own_too));
    var a = vec4f();
    var b = vec4f();
    var norm_a = vec4f(1.0);
    var norm_b = vec4f(1.0);
    var cosine = vec4f(1.0);
    var sine = vec4f();
    if (live) {
        let own_base = select(kVOffset, kKOffset, role == kKeyRole) + kv * kDim;
        let at = (select(own_base, (first_head + role) * kDim, role < kKeyRole) + i) / 4u;
        a = qkv[at];
        b = qkv[at + kDim / 8u];
        if (role != kValueRole) {
            let norm = (select(0u, kDim, role == kKeyRole) + i) / 4u;
            norm_a = norms[norm];
            norm_b = norms[norm + kDim / 8u];
            let turn0 = cos_sin(turns_at(step.position, rates[i]));
            let turn1 = cos_sin(turns_at(step.position, rates[i + 1u]));
            let turn2 = cos_sin(turns_at(step.position, rates[i + 2u]));
            let turn3 = cos_sin(turns_at(step.position, rates[i + 3u]));
            cosine = vec4f(turn0.x, turn1.x, turn2.x, turn3.x);
            sine = vec4f(turn0.y, turn1.y, turn2.y, turn3.y);
        }
    }
    let sum = sum_lanes(vec4f(dot(a, a) + dot(b, b), 0.0, 0.0, 0.0), t, kRoleThreads).x;
    if (i == 0u) { scales[role] = 1.0 / sqrt(sum / f32(kDim) + kEps); }
    workgroupBarrier();
    a *= scales[role] * norm_a;
    b *= scales[role] * norm_b;
    let x = a * cosine - b * sine;
    let y = a * sine + b * cosine;
    if (live && role < kKeyRole) {
        query[(role * kDim + i) / 4u] = x;
        query[(role * kDim + i) / 4u + kDim / 8u] = y;
    }
    if (live && role >= kKeyRole) {
        let at = (role - kKeyRole) * kDim + i;
        for (var j = 0u; j < 4u; j++) {
            own[at + j] = x[j];
            own[at + kDim / 2u + j] = y[j];
        }
    }
    workgroupBarrier();
}

// The token's own key and value into the cache, each by half of the threads. Workgroups that share a key head write the
// same.
fn store_own(kv: u32, t: u32) {
    let lanes = kThreads / 2u;
    let lane = t % lanes;
    let is_key = t < lanes;
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

fn dot_heads(at: u32, k: vec4f) -> vec2f {
    if (kGroup == 1u) { return vec2f(dot(query[at], k), 0.0); }
    return vec2f(dot(query[at], k), dot(query[at + kKeyVecs], k));
}

fn key_scores(i: u32, k: vec4u, scales: vec4u) -> vec2f {
    if (i >= kRowVecs) { return vec2f(); }
    let run = kv_run(k);
    let at = i * kPerWord;
    var out = dot_heads(at, run.v0);
    if (kPerWord > 1u) { out += dot_heads(at + 1u, run.v1); }
    if (kPerWord > 2u) { out += dot_heads(at + 2u, run.v2) + dot_heads(at + 3u, run.v3); }
    return out * kv_scale(scales, i);
}

// Every fourth vec4 of a key from i on, and their scales: of 32 vec4s there are two at most.
struct Keys {
    k0: vec4u, k1: vec4u, k2: vec4u, k3: vec4u, k4: vec4u, k5: vec4u, k6: vec4u, k7: vec4u,
    s0: vec4u, s1: vec4u,
}

fn keys_from(row: u32, i: u32) -> Keys {
    return Keys(key_vec(row, i, 0u), key_vec(row, i, 1u), key_vec(row, i, 2u), key_vec(row, i, 3u), key_vec(row, i, 4u),
                key_vec(row, i, 5u), key_vec(row, i, 6u), key_vec(row, i, 7u), key_scale_vec(row, i, 0u),
                key_scale_vec(row, i, 1u));
}

// vec4 i + 4 · n of a key; nothing where no thread's i leads to one.
fn key_vec(row: u32, i: u32, n: u32) -> vec4u {
    if (4u * n >= kRowVecs) { return vec4u(); }
    return k_cache[row * kRowVecs + min(i + 4u * n, kRowVecs - 1u)];
}

fn key_scale_vec(row: u32, i: u32, n: u32) -> vec4u {
    if (n >= kScaleVecs) { return vec4u(); }
    return k_cache[scales_at(row) + min(i / kVecsAScale + n, kScaleVecsOrOne - 1u)];
}

fn keys_scores(i: u32, k: Keys) -> vec2f {
    let s1 = select(k.s0, k.s1, kScaleVecs > 1u);
    return key_scores(i, k.k0, k.s0) + key_scores(i + 4u, k.k1, k.s0) + key_scores(i + 8u, k.k2, k.s0) +
           key_scores(i + 12u, k.k3, k.s0) + key_scores(i + 16u, k.k4, s1) + key_scores(i + 20u, k.k5, s1) +
           key_scores(i + 24u, k.k6, s1) + key_scores(i + 28u, k.k7, s1);
}

// q · k of the heads over every fourth vec4 of the key, of which the first are there already.
fn quarter_scores(row: u32, quarter: u32, keys: Keys) -> vec2f {
    var sum = keys_scores(quarter, keys);
    for (var i = quarter + 4u * kBatch; i < kRowVecs; i += 4u * kBatch) { sum += keys_scores(i, keys_from(row, i)); }
    return sum;
}

// Σ p · v of the heads over one column: its first four elements, and as many more as a vec4 of the cache has.
struct Column { a0: vec4f, a1: vec4f, b0: vec4f, b1: vec4f, c0: vec4f, c1: vec4f, d0: vec4f, d1: vec4f }

fn faded(c: Column, f: vec2f) -> Column {
    return Column(c.a0 * f.x, c.a1 * f.y, c.b0 * f.x, c.b1 * f.y, c.c0 * f.x, c.c1 * f.y, c.d0 * f.x, c.d1 * f.y);
}

fn with_value(c: Column, p: vec2f, v: vec4u) -> Column {
    let r = kv_run(v);
    var out = c;
    out.a0 += p.x * r.v0;
    out.a1 += p.y * r.v0;
    if (kPerWord > 1u) {
        out.b0 += p.x * r.v1;
        out.b1 += p.y * r.v1;
    }
    if (kPerWord > 2u) {
        out.c0 += p.x * r.v2;
        out.c1 += p.y * r.v2;
        out.d0 += p.x * r.v3;
        out.d1 += p.y * r.v3;
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
fn score_of(first: u32, n: u32, column: u32) -> vec2f {
    let j = first + n * kSharers;
    if (n >= kKeysEach || j >= kTile) { return vec2f(); }
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

// vec4 t of the scales of a tile's values.
fn value_scale(kv: u32, tile: u32, t: u32, last: u32) -> vec4u {
    if (!kHasScales || t >= kTileScales) { return vec4u(); }
    let row = cache_row(min(tile + t / kScaleVecsOrOne, last - 1u), kv);
    return v_cache[scales_at(row) + t % kScaleVecsOrOne];
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
    let own_too = kOwns == 1u && last == end;

    let column = min(t / kSharers, kRowVecs - 1u);
    let sharer = t % kSharers;
    let quarter = t % 4u;
    var row = cache_row(min(first + t / 4u, last - 1u), kv);
    var keys = keys_from(row, quarter);
    var values = batch(kv, column, first, sharer, last);
    var scale = value_scale(kv, first, t, last);
    prepare(first_head, kv, own_too, t);
    if (own_too) { store_own(kv, t); }

    var found = Column();
    var largest = vec2f(-3.0e38);
    var sum = vec2f();  // of this thread's keys
    for (var tile = first; tile < last; tile += kTile) {
        let key = tile + t / 4u;
        if (tile != first || own_too) {
            row = cache_row(min(key, last - 1u), kv);
            keys = keys_from(row, quarter);
            values = batch(kv, column, tile, sharer, last);
            scale = value_scale(kv, tile, t, last);
        }
        let whole_score = sum_lanes(vec4f(quarter_scores(row, quarter, keys), 0.0, 0.0), t, 4u).xy;
        if (kHasScales && t < kTileScales) { value_scales[t] = scale; }
        let scorer = quarter == 0u && key < last;  // has the score of its key
        let score = select(vec2f(-3.0e38), whole_score, scorer);
        let next = max(largest, max_workgroup(vec4f(score, score), t, kThreads).xy);
        let fade = exp(largest - next);
        largest = next;
        let p = exp(score - next);
        if (quarter == 0u) { scores[t / 4u] = p; }
        sum = sum * fade + p;
        found = faded(found, fade);
        workgroupBarrier();
        found = with_batch(found, column, sharer, values);
        for (var j = kBatch; j < kKeysEach; j += kBatch) {
            let more = sharer + j * kSharers;
            found = with_batch(found, column, more, batch(kv, column, tile, more, last));
        }
        workgroupBarrier();
    }
    store_head(first_head, group.y, t, found.a0, found.b0, found.c0, found.d0);
    if (kGroup > 1u) { store_head(first_head + 1u, group.y, t, found.a1, found.b1, found.c1, found.d1); }
    let total = sum_lanes(vec4f(sum, 0.0, 0.0), t, kThreads);
    if (t != 0u) { return; }
    for (var g = 0u; g < kGroup; g++) {
        stats[(first_head + g) * kMaxSplits + group.y] = vec2f(largest[g], total[g]);
    }
}
