// split_heads — heads.wgsl for training: what the norms read stays where it is, and positions begin anew with each example.
//   q = rope(rms(qkv's q; q_norm));  k = rope(rms(k; k_norm));  v = rms(v)
// qkv: [tokens, kStride] with q at 0, k at kKOffset, v at kVOffset (the same as k's where values are the raw keys).
// q: [tokens, heads, dim]. kv: [tokens, 2, kv_heads, dim], keys then values. norms: [2, dim]. rates: as in heads.wgsl.
// places: of each token its position in its example, and where that begins.
// grid: (heads + 2 · kv_heads, tokens); kKvHeads 0 when the layer uses another one's K and V.
//# import common, $reduce, rope
override kHeads: u32;
override kKvHeads: u32;
override kDim: u32;
override kStride: u32;
override kKOffset: u32 = 0u;
override kVOffset: u32 = 0u;
override kEps: f32 = 1e-6;
const kThreads = 64u;

@group(0) @binding(0) var<storage, read> step: Step;
@group(0) @binding(1) var<storage, read> places: array<vec2u>;
@group(0) @binding(2) var<storage, read> norms: array<f32>;
@group(0) @binding(3) var<storage, read> rates: array<vec4f>;
@group(0) @binding(4) var<storage, read> qkv: array<f32>;
@group(0) @binding(5) var<storage, read_write> q: array<f32>;
@group(0) @binding(6) var<storage, read_write> kv: array<f32>;

@compute @workgroup_size(kThreads)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) t: u32) {
    let token = group.y;
    if (token >= step.tokens) { return; }
    let part = group.x;
    let is_q = part < kHeads;
    let is_v = part >= kHeads + kKvHeads;
    var base = token * kStride;
    if (is_q) {
        base += part * kDim;
    } else if (is_v) {
        base += kVOffset + (part - kHeads - kKvHeads) * kDim;
    } else {
        base += kKOffset + (part - kHeads) * kDim;
    }
    // Keys and values lie behind each other in kv as their numbers do.
    let out = select(token * 2u * kKvHeads + part - kHeads, token * kHeads + part, is_q) * kDim;

    var sum = 0.0;
    for (var i = t; i < kDim; i += kThreads) { sum += qkv[base + i] * qkv[base + i]; }
    let r = 1.0 / sqrt(sum_workgroup(sum, t, kThreads) / f32(kDim) + kEps);
    if (is_v) {
        for (var i = t; i < kDim; i += kThreads) { kv[out + i] = qkv[base + i] * r; }
        return;
    }
    let pairs = kDim / 2u;
    let norm = select(kDim, 0u, is_q);
    for (var i = t; i < pairs; i += kThreads) {
        let turn = cos_sin(turns_at(places[token].x, rates[i]));
        let a = qkv[base + i] * r * norms[norm + i];
        let b = qkv[base + i + pairs] * r * norms[norm + i + pairs];
        let first = a * turn.x - b * turn.y;
        let second = a * turn.y + b * turn.x;
        if (is_q) {
            q[out + i] = first;
            q[out + i + pairs] = second;
        } else {
            kv[out + i] = first;
            kv[out + i + pairs] = second;
        }
    }
}
