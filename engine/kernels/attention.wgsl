// attention — one query head of one token against the cache: softmax(q · Kᵀ) · V, online, any number of keys
//
// A workgroup takes 32 keys at a time: 4 threads a key for the scores, then each thread owns some elements of the
// output. For blocks of tokens; attention_decode.wgsl is for one. grid: (heads, tokens).
// qkv: [tokens, kStride], q first. caches: as kv/rows.wgsl has them. y: [tokens, heads · kDim].
// kWindow 0: all keys up to the token; else the last kWindow of them, the token's own included.
override kHeads: u32;
override kKvHeads: u32;
override kDim: u32;
override kStride: u32;
override kRing: u32;
override kWindow: u32 = 0u;
const kThreads = 128u;
const kTile = 32u;

@group(0) @binding(0) var<storage, read> step: Step;
@group(0) @binding(1) var<storage, read> qkv: array<f32>;
@group(0) @binding(2) var<storage, read> k_cache: array<vec4u>;
@group(0) @binding(3) var<storage, read> v_cache: array<vec4u>;
@group(0) @binding(4) var<storage, read_write> y: array<f32>;
override kQueryVecs: u32 = kDim / 4u;
var<workgroup> query: array<vec4f, kQueryVecs>;
var<workgroup> partial: array<f32, kThreads>;
var<workgroup> scores: array<f32, kTile>;

// q · k over every fourth vec4 of the key.
fn quarter_score(row: u32, quarter: u32) -> f32 {
    var sum = 0.0;
    for (var i = quarter; i < kRowVecs; i += 4u) {
        let k = kv_run(k_cache[row * kRowVecs + i]);
        let at = i * kPerWord;
        var part = dot(query[at], k.v0);
        if (kPerWord > 1u) { part += dot(query[at + 1u], k.v1); }
        if (kPerWord > 2u) { part += dot(query[at + 2u], k.v2) + dot(query[at + 3u], k.v3); }
        if (kHasScales) { part *= kv_scale(k_cache[scales_at(row) + i / kVecsAScale], i); }
        sum += part;
    }
    return sum;
}

// A word of a value.
fn value(row: u32, word: u32) -> vec4f {
    let i = word / 4u;
    var v = kv_values(v_cache[row * kRowVecs + i][word % 4u]);
    if (kHasScales) { v *= kv_scale(v_cache[scales_at(row) + i / kVecsAScale], i); }
    return v;
}

@compute @workgroup_size(kThreads)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) t: u32) {
    let head = group.x;
    let token = group.y;
    if (token >= step.tokens) { return; }
    let kv = head / (kHeads / kKvHeads);
    for (var i = t; i < kQueryVecs; i += kThreads) {
        let at = token * kStride + head * kDim + 4u * i;
        query[i] = vec4f(qkv[at], qkv[at + 1u], qkv[at + 2u], qkv[at + 3u]);
    }

    let end = step.position + token + 1u;
    var begin = 0u;
    if (kWindow > 0u && end > kWindow) { begin = end - kWindow; }
    var acc = vec4f();  // the elements of words t, t + 128, …: at most 512 elements by 128 threads
    var largest = -3.0e38;
    var sum = 0.0;
    for (var tile = begin; tile < end; tile += kTile) {
        workgroupBarrier();
        let key = tile + t / 4u;
        var a = 0.0;
        if (key < end) { a = quarter_score(cache_row(key, kv), t % 4u); }
        partial[t] = a;
        workgroupBarrier();
        if (t < kTile) {
            let total = partial[4u * t] + partial[4u * t + 1u] + partial[4u * t + 2u] + partial[4u * t + 3u];
            scores[t] = select(-3.0e38, total, tile + t < end);
        }
        workgroupBarrier();
        var next = largest;
        for (var j = 0u; j < kTile; j++) { next = max(next, scores[j]); }
        let fade = exp(largest - next);
        acc *= fade;
        sum *= fade;
        largest = next;
        let keys = min(kTile, end - tile);
        for (var j = 0u; j < keys; j++) {
            let p = exp(scores[j] - largest);
            sum += p;
            let row = cache_row(tile + j, kv);
            for (var e = 0u; e < 4u / kPerWord; e++) {
                let word = t + e * kThreads;
                if (word >= kDim / kPerWord) { continue; }
                let v = p * value(row, word);
                for (var c = 0u; c < kPerWord; c++) { acc[e * kPerWord + c] += v[c]; }
            }
        }
    }
    for (var e = 0u; e < 4u; e++) {
        let i = (t + e / kPerWord * kThreads) * kPerWord + e % kPerWord;
        if (i < kDim) { y[(token * kHeads + head) * kDim + i] = acc[e] / sum; }
    }
}
