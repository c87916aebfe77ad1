// qk_norm_rope — qk_norm_rope_store.wgsl for training: what the norms read stays where it is, and positions begin anew with each example.
//   q = rope(rms(qkv's q; q_norm));  k = rope(rms(k; k_norm));  v = rms(v), or v where kNormsValues is 0
// qkv: [tokens, kStride] with q at 0, k at kKOffset, v at kVOffset (the same as k's where values are the raw keys).
// q: [tokens, heads, dim]. kv: [tokens, 2, kv_heads, dim], keys then values. norms: [2, dim]. rates: as in qk_norm_rope_store.wgsl.
// places: of each token its position in its example, and where that begins.
// grid: (heads + 2 · kv_heads, tokens); kKvHeads 0 when the layer uses another one's K and V.
//# import lib/common, $reduce, lib/rope
override kHeads: u32;
override kKvHeads: u32;
override kHeadDim: u32;
override kStride: u32;
override kKOffset: u32 = 0u;
override kVOffset: u32 = 0u;
override kEps: f32 = 1e-6;
override kNormsValues: u32 = 1u;
const kThreads = 64u;

@group(0) @binding(0) var<storage, read> step: Step;
@group(0) @binding(1) var<storage, read> position_ids: array<vec2u>;
@group(0) @binding(2) var<storage, read> norms: array<f32>;
@group(0) @binding(3) var<storage, read> frequencies: array<vec4f>;
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
        base += part * kHeadDim;
    } else if (is_v) {
        base += kVOffset + (part - kHeads - kKvHeads) * kHeadDim;
    } else {
        base += kKOffset + (part - kHeads) * kHeadDim;
    }
    // Keys and values lie behind each other in kv as their numbers do.
    let out = select(token * 2u * kKvHeads + part - kHeads, token * kHeads + part, is_q) * kHeadDim;

    var sum = 0.0;
    for (var i = t; i < kHeadDim; i += kThreads) { sum += qkv[base + i] * qkv[base + i]; }
    let r = 1.0 / sqrt(sum_workgroup(sum, t, kThreads) / f32(kHeadDim) + kEps);
    if (is_v) {
        for (var i = t; i < kHeadDim; i += kThreads) { kv[out + i] = qkv[base + i] * select(1.0, r, kNormsValues == 1u); }
        return;
    }
    let pairs = kHeadDim / 2u;
    let norm = select(kHeadDim, 0u, is_q);
    for (var i = t; i < pairs; i += kThreads) {
        let rotation = cos_sin(revolutions_at(position_ids[token].x, frequencies[i]));
        let a = qkv[base + i] * r * norms[norm + i];
        let b = qkv[base + i + pairs] * r * norms[norm + i + pairs];
        let first = a * rotation.x - b * rotation.y;
        let second = a * rotation.y + b * rotation.x;
        if (is_q) {
            q[out + i] = first;
            q[out + i + pairs] = second;
        } else {
            kv[out + i] = first;
            kv[out + i + pairs] = second;
        }
    }
}
