// qk_norm_rope_backward — the gradient of qk_norm_rope.wgsl by qkv: dqkv, all of it written, one workgroup a head and token.
// A rotation's gradient is turned back; then as rms_norm_backward.wgsl. Where values are the raw keys (kVOffset = kKOffset), the
// gradients of both come together in the key's place.
// qkv, dqkv: [tokens, kStride]. dq: [tokens, heads, dim]. dkv: [tokens, 2, kv_heads, dim].
// grid: (heads + 2 · kv_heads, tokens), or heads + kv_heads where values are the raw keys.
//# import lib/common, $reduce, lib/rope
override kHeads: u32;
override kKvHeads: u32;
override kHeadDim: u32;
override kStride: u32;
override kKOffset: u32 = 0u;
override kVOffset: u32 = 0u;
override kEps: f32 = 1e-6;
override kNormsValues: u32 = 1u;  // 0: values were kept as they are (never where they are the raw keys)
const kThreads = 64u;

@group(0) @binding(0) var<storage, read> step: Step;
@group(0) @binding(1) var<storage, read> position_ids: array<vec2u>;
@group(0) @binding(2) var<storage, read> norms: array<f32>;
@group(0) @binding(3) var<storage, read> frequencies: array<vec4f>;
@group(0) @binding(4) var<storage, read> qkv: array<f32>;
@group(0) @binding(5) var<storage, read> dq: array<f32>;
@group(0) @binding(6) var<storage, read> dkv: array<f32>;
@group(0) @binding(7) var<storage, read_write> dqkv: array<f32>;
var<workgroup> weighted: array<f32, kHeadDim>;  // w ⊙ dy, turned back

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
    let source = select(token * 2u * kKvHeads + part - kHeads, token * kHeads + part, is_q) * kHeadDim;
    let pairs = kHeadDim / 2u;
    let norm = select(kHeadDim, 0u, is_q);
    for (var i = t; i < pairs; i += kThreads) {
        var first: f32;
        var second: f32;
        if (is_q) {
            first = dq[source + i];
            second = dq[source + i + pairs];
        } else {
            first = dkv[source + i];
            second = dkv[source + i + pairs];
        }
        if (is_v) {
            weighted[i] = first;
            weighted[i + pairs] = second;
        } else {
            let rotation = cos_sin(revolutions_at(position_ids[token].x, frequencies[i]));
            weighted[i] = (first * rotation.x + second * rotation.y) * norms[norm + i];
            weighted[i + pairs] = (second * rotation.x - first * rotation.y) * norms[norm + i + pairs];
        }
    }
    if (!is_q && !is_v && kVOffset == kKOffset) {
        // The values' own norm has no weights.
        for (var i = t; i < pairs; i += kThreads) {
            weighted[i] += dkv[source + kKvHeads * kHeadDim + i];
            weighted[i + pairs] += dkv[source + kKvHeads * kHeadDim + i + pairs];
        }
    }
    workgroupBarrier();
    if (is_v && kNormsValues == 0u) {
        for (var i = t; i < kHeadDim; i += kThreads) { dqkv[base + i] = weighted[i]; }
        return;
    }
    var squares = 0.0;
    var products = 0.0;
    for (var i = t; i < kHeadDim; i += kThreads) {
        squares += qkv[base + i] * qkv[base + i];
        products += qkv[base + i] * weighted[i];
    }
    let r = 1.0 / sqrt(sum_workgroup(squares, t, kThreads) / f32(kHeadDim) + kEps);
    let back = sum_workgroup(products, t, kThreads) / f32(kHeadDim) * r * r * r;
    for (var i = t; i < kHeadDim; i += kThreads) { dqkv[base + i] = r * weighted[i] - qkv[base + i] * back; }
}
