// flash_prefill — queries of a block of tokens against the cache: softmax(q · Kᵀ) · V, online, any number of keys
//
// A workgroup takes kQueries queries that share a key head: the heads of a token, then those of the next one. What it reads of
// keys and values serves all of them. 64 keys at a time:
//   scores: eight threads share a key, and each has another one, 32 further on, that meets the same queries;
//   weights: as many threads as there are for a query;
//   values: a thread owns a vec4 of the cache's row, of kQueriesPerThread queries.
// For blocks of tokens; flash_decode.wgsl is for one. grid: (key heads, queries of a key head / kQueries).
// qkv: [tokens, kStride], q first. caches: as rows.wgsl has them. y: [tokens, heads · kHeadDim]. kHeadDim: a multiple of 4.
// $visible: which keys a row sees.
//# import lib/common, $reduce, $kv, $visible, kv/rows
override kHeads: u32;
override kKvHeads: u32;
override kHeadDim: u32;
override kStride: u32;
override kRing: u32;
override kQueries: u32 = 4u;  // 4 or 8; at most 4 · kSets
const kThreads = 256u;
const kTile = 64u;
const kFurther = kTile / 2u;
const kNoScore = -3.0e38;

@group(0) @binding(0) var<storage, read> step: Step;
@group(0) @binding(1) var<storage, read> qkv: array<vec4f>;
@group(0) @binding(2) var<storage, read> k_cache: array<vec4u>;
@group(0) @binding(3) var<storage, read> v_cache: array<vec4u>;
@group(0) @binding(4) var<storage, read_write> y: array<vec4f>;

override kQueriesPerKey: u32 = kHeads / kKvHeads;  // heads of a token that share a key head
override kDimVecs: u32 = kHeadDim / 4u;
override kQueryVecs: u32 = kQueries * kDimVecs;
override kScoreVecs: u32 = kQueries * kTile / 4u;
override kRowThreads: u32 = kThreads / kQueries;
override kSets: u32 = kThreads / kRowVecs;  // of threads that own all of a query's values
override kQueriesPerThread: u32 = select(select(4u, 2u, kQueries <= 2u * kSets), 1u, kQueries <= kSets);
// [kQueries] of a query's elements: those that are first in the vec4s of a cache's row, then the second ones, …
var<workgroup> query: array<vec4f, kQueryVecs>;
var<workgroup> scores: array<vec4f, kScoreVecs>;   // [kQueries, kTile]
var<workgroup> weights: array<vec4f, kScoreVecs>;  // [kTile, kQueries]
var<workgroup> rescales: array<f32, kQueries>;           // what the sums so far lose
var<workgroup> sums: array<f32, kThreads>;

// What two keys have to do with four queries.
struct Two { a: vec4f, b: vec4f }

fn added(x: Two, y: Two) -> Two { return Two(x.a + y.a, x.b + y.b); }

fn query_vec(row: u32, i: u32, n: u32) -> vec4f { return query[row * kDimVecs + n * kRowVecs + i]; }

// A query's elements that meet vec4 i of a key.
fn query_vec16(row: u32, i: u32) -> Vec16 {
    var out = Vec16(query_vec(row, i, 0u), vec4f(), vec4f(), vec4f());
    if (kPerWord > 1u) { out.v1 = query_vec(row, i, 1u); }
    if (kPerWord > 2u) {
        out.v2 = query_vec(row, i, 2u);
        out.v3 = query_vec(row, i, 3u);
    }
    return out;
}

fn four_dots(row: u32, i: u32, a: Vec16, b: Vec16) -> Two {
    let q0 = query_vec16(row, i);
    let q1 = query_vec16(row + 1u, i);
    let q2 = query_vec16(row + 2u, i);
    let q3 = query_vec16(row + 3u, i);
    return Two(vec4f(dot_vec16(q0, a), dot_vec16(q1, a), dot_vec16(q2, a), dot_vec16(q3, a)),
               vec4f(dot_vec16(q0, b), dot_vec16(q1, b), dot_vec16(q2, b), dot_vec16(q3, b)));
}

// Vec4 i of a key, with its scale unless that is the row's.
fn key_vec16(row: u32, i: u32) -> Vec16 {
    let run = kv_vec16(k_cache[row * kRowVecs + i]);
    if (!kHasScales || kRowScale) { return run; }
    return scaled(run, kv_scale(k_cache[scales_at(row) + i / kVecsAScale], i));
}

fn key_scale(row: u32) -> f32 {
    if (!kRowScale) { return 1.0; }
    return kv_scale(k_cache[scales_at(row)], 0u);
}

// Four queries' scores of a key, from the first of the eight threads that share it.
fn store_scores(first: u32, row: u32, key: u32, place: u32, score: vec4f) {
    for (var r = 0u; r < 4u; r++) {
        let sight = seen((first + row + r) / kQueriesPerKey);
        let at = (row + r) * kTile + place;
        scores[at / 4u][at % 4u] = select(kNoScore, score[r], key >= sight.x && key < sight.y);
    }
}

fn put_scores(first: u32, row: u32, key: u32, place: u32, t: u32, scale: vec2f, dots: Two) {
    let a = sum_rows(dots.a, t, 8u, 4u) * scale.x;
    let b = sum_rows(dots.b, t, 8u, 4u) * scale.y;
    if (t % 8u != 0u) { return; }
    store_scores(first, row, key, place, a);
    store_scores(first, row, key + kFurther, place + kFurther, b);
}

// What a thread owns of its queries' sums.
struct Owned { v0: Vec16, v1: Vec16, v2: Vec16, v3: Vec16 }

fn rescaled(o: Owned, row: u32) -> Owned {
    var out = o;
    out.v0 = scaled(o.v0, rescales[row]);
    if (kQueriesPerThread > 1u) { out.v1 = scaled(o.v1, rescales[row + 1u]); }
    if (kQueriesPerThread > 2u) {
        out.v2 = scaled(o.v2, rescales[row + 2u]);
        out.v3 = scaled(o.v3, rescales[row + 3u]);
    }
    return out;
}

// With what was `loaded` of the value in `place` of the tile: vec4 i of row `at` of the cache.
fn with_value(o: Owned, row: u32, i: u32, place: u32, at: u32, loaded: vec4u) -> Owned {
    let mine = place * kQueries + row;
    var w = weights[mine / 4u];
    if (kQueriesPerThread == 2u) { w = select(w, w.zwxy, mine % 4u == 2u); }
    if (kQueriesPerThread == 1u) { w.x = w[mine % 4u]; }
    if (kHasScales && !kRowScale) { w *= kv_scale(v_cache[scales_at(at) + i / kVecsAScale], i); }
    let v = kv_vec16(loaded);
    var out = o;
    out.v0 = plus(o.v0, scaled(v, w.x));
    if (kQueriesPerThread > 1u) { out.v1 = plus(o.v1, scaled(v, w.y)); }
    if (kQueriesPerThread > 2u) {
        out.v2 = plus(o.v2, scaled(v, w.z));
        out.v3 = plus(o.v3, scaled(v, w.w));
    }
    return out;
}

// With four values, all of them on their way together. at: their rows.
fn with_four(o: Owned, row: u32, i: u32, place: u32, at: vec4u) -> Owned {
    let a = v_cache[at.x * kRowVecs + i];
    let b = v_cache[at.y * kRowVecs + i];
    let c = v_cache[at.z * kRowVecs + i];
    let d = v_cache[at.w * kRowVecs + i];
    return with_value(with_value(with_value(with_value(o, row, i, place, at.x, a), row, i, place + 1u, at.y, b),
                                 row, i, place + 2u, at.z, c), row, i, place + 3u, at.w, d);
}

// The cache's rows of keys `place` … of a tile; beyond the end, where nothing counts, the last one's.
fn rows_at(first: u32, tile: u32, place: vec4u, end: u32, kv: u32) -> vec4u {
    let at = tile % kRing + min(place, vec4u(end - 1u - tile));
    return (select(at, at - kRing, at >= vec4u(kRing)) + first) * kKvHeads + kv;
}

// Vec4 i of what a query found, unless it belongs to a token that is not there.
fn store(row: u32, i: u32, kv: u32, v: Vec16) {
    var total = 0.0;
    for (var j = 0u; j < kRowThreads; j++) { total += sums[row % kQueries * kRowThreads + j]; }
    let token = row / kQueriesPerKey;
    if (token >= step.tokens) { return; }
    let out = scaled(v, 1.0 / total);
    let at = (token * kHeads + kv * kQueriesPerKey + row % kQueriesPerKey) * kDimVecs + i * kPerWord;
    y[at] = out.v0;
    if (kPerWord > 1u) { y[at + 1u] = out.v1; }
    if (kPerWord > 2u) {
        y[at + 2u] = out.v2;
        y[at + 3u] = out.v3;
    }
}

@compute @workgroup_size(kThreads)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) t: u32) {
    let kv = group.x;
    let first = group.y * kQueries;
    let last_token = step.tokens - 1u;
    if (first / kQueriesPerKey > last_token) { return; }
    for (var i = t; i < kQueryVecs; i += kThreads) {
        let row = i / kDimVecs;
        let n = i % kDimVecs;
        let token = min((first + row) / kQueriesPerKey, last_token);
        let head = kv * kQueriesPerKey + (first + row) % kQueriesPerKey;
        query[row * kDimVecs + n % kPerWord * kRowVecs + n / kPerWord] = qkv[(token * kStride + head * kHeadDim) / 4u + n];
    }
    workgroupBarrier();

    let sequence = cache_first(first / kQueriesPerKey);
    let begin = seen(first / kQueriesPerKey).x;
    let end = seen(min((first + kQueries - 1u) / kQueriesPerKey, last_token)).y;
    let part = t % 8u;
    let row = t / kRowThreads;  // whose weights this thread finds
    let lane = t % kRowThreads;
    var running_max = kNoScore;
    var sum = 0.0;
    let i = t % kRowVecs;  // what it owns of values
    let owned = t / kRowVecs * kQueriesPerThread;
    var o = Owned();
    for (var tile = begin; tile < end; tile += kTile) {
        let key = tile + t / 8u;
        let at = rows_at(sequence, tile, vec4u(t / 8u, t / 8u + kFurther, 0u, 0u), end, kv);
        let near = at.x;
        let further = at.y;
        var s0 = Two();
        var s1 = Two();
        for (var n = part; n < kRowVecs; n += 8u) {
            let a = key_vec16(near, n);
            let b = key_vec16(further, n);
            s0 = added(s0, four_dots(0u, n, a, b));
            if (kQueries > 4u) { s1 = added(s1, four_dots(4u, n, a, b)); }
        }
        let scale = vec2f(key_scale(near), key_scale(further));
        put_scores(first, 0u, key, t / 8u, t, scale, s0);
        if (kQueries > 4u) { put_scores(first, 4u, key, t / 8u, t, scale, s1); }
        workgroupBarrier();

        var maxima = vec4f(running_max);
        for (var n = 0u; n < kTile / 4u; n++) { maxima = max(maxima, scores[row * (kTile / 4u) + n]); }
        let next = max(max(maxima.x, maxima.y), max(maxima.z, maxima.w));
        let rescale = exp(running_max - next);
        running_max = next;
        sum *= rescale;
        for (var place = lane; place < kTile; place += kRowThreads) {
            let score = scores[row * (kTile / 4u) + place / 4u][place % 4u];
            let p = select(0.0, exp(score - next), score != kNoScore);
            sum += p;
            var w = p;
            if (kRowScale) { w *= kv_scale(v_cache[scales_at(rows_at(sequence, tile, vec4u(place), end, kv).x)], 0u); }
            weights[(place * kQueries + row) / 4u][row % 4u] = w;
        }
        if (lane == 0u) { rescales[row] = rescale; }
        workgroupBarrier();

        if (owned < kQueries) {
            o = rescaled(o, owned);
            for (var place = 0u; place < kTile; place += 4u) {
                let at = rows_at(sequence, tile, vec4u(place, place + 1u, place + 2u, place + 3u), end, kv);
                o = with_four(o, owned, i, place, at);
            }
        }
    }
    sums[t] = sum;
    workgroupBarrier();
    if (owned >= kQueries) { return; }
    store(first + owned, i, kv, o.v0);
    if (kQueriesPerThread > 1u) { store(first + owned + 1u, i, kv, o.v1); }
    if (kQueriesPerThread > 2u) {
        store(first + owned + 2u, i, kv, o.v2);
        store(first + owned + 3u, i, kv, o.v3);
    }
}
