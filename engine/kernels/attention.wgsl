// attention — one query head of one token against the cache: softmax(q · Kᵀ) · V, online, any number of keys
//
// A workgroup takes 32 keys at a time: 4 threads a key for the scores, then each thread owns some elements of the
// output. For blocks of tokens; attention_decode.wgsl is for one. grid: (heads, tokens).
// qkv: [tokens, kStride], q first. caches: [kRing, kv_heads, kDim]. y: [tokens, heads · kDim].
// kWindow 0: all keys up to the token; else the last kWindow of them, the token's own included.
override kHeads: u32;
override kKvHeads: u32;
override kDim: u32;
override kStride: u32;
override kRing: u32;
override kWindow: u32 = 0u;
override kHalf: u32 = 0u;
const kThreads = 128u;
const kTile = 32u;

@group(0) @binding(0) var<storage, read> step: Step;
@group(0) @binding(1) var<storage, read> qkv: array<f32>;
@group(0) @binding(2) var<storage, read> k_cache: array<u32>;
@group(0) @binding(3) var<storage, read> v_cache: array<u32>;
@group(0) @binding(4) var<storage, read_write> y: array<f32>;
override kDimOrMore: u32 = max(kDim, kThreads);
var<workgroup> query: array<f32, kDimOrMore>;
var<workgroup> partial: array<f32, kThreads>;
var<workgroup> scores: array<f32, kTile>;

fn key_pair(at: u32) -> vec2f {
    if (kHalf == 1u) { return unpack2x16float(k_cache[at / 2u]); }
    return vec2f(bitcast<f32>(k_cache[at]), bitcast<f32>(k_cache[at + 1u]));
}

fn value(at: u32) -> f32 {
    if (kHalf == 1u) { return unpack2x16float(v_cache[at / 2u])[at % 2u]; }
    return bitcast<f32>(v_cache[at]);
}

@compute @workgroup_size(kThreads)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) t: u32) {
    let head = group.x;
    let token = group.y;
    if (token >= step.tokens) { return; }
    let kv = head / (kHeads / kKvHeads);
    for (var i = t; i < kDim; i += kThreads) { query[i] = qkv[token * kStride + head * kDim + i]; }

    let end = step.position + token + 1u;
    var begin = 0u;
    if (kWindow > 0u && end > kWindow) { begin = end - kWindow; }
    var acc = vec4f();  // elements t, t + 128, t + 256, t + 384
    var largest = -3.0e38;
    var sum = 0.0;
    for (var tile = begin; tile < end; tile += kTile) {
        workgroupBarrier();
        let key = tile + t / 4u;
        var a = 0.0;
        if (key < end) {
            let row = ((key % kRing) * kKvHeads + kv) * kDim;
            for (var i = 2u * (t % 4u); i < kDim; i += 8u) {
                let k = key_pair(row + i);
                a += k.x * query[i] + k.y * query[i + 1u];
            }
        }
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
            let row = (((tile + j) % kRing) * kKvHeads + kv) * kDim;
            for (var e = 0u; e < 4u; e++) {
                let i = t + e * kThreads;
                if (i < kDim) { acc[e] += p * value(row + i); }
            }
        }
    }
    for (var e = 0u; e < 4u; e++) {
        let i = t + e * kThreads;
        if (i < kDim) { y[(token * kHeads + head) * kDim + i] = acc[e] / sum; }
    }
}
