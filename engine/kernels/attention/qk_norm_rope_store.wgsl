// qk_norm_rope_store — what happens to Q, K and V between their projection and attention, one workgroup a head and token:
//   q = rope(rms(q; q_norm)) in place;  k = rope(rms(k; k_norm)) → cache;  v = rms(v) → cache
// or v as it is (kNormsValues 0).
// qkv: [tokens, kStride] with q at 0, k at kKOffset, v at kVOffset (the same as k's where values are the raw keys).
// norms: [2, head_dim], q's then k's. rates: [head_dim / 2], turns a position in three parts.
// caches: as rows.wgsl has them.
// grid: (heads + 2 · kv_heads, tokens); kKvHeads 0 when the layer uses another one's K and V.
//# import lib/common, $reduce, lib/rope, $kv, $visible, kv/rows
override kHeads: u32;
override kKvHeads: u32;
override kHeadDim: u32;
override kStride: u32;
override kKOffset: u32 = 0u;
override kVOffset: u32 = 0u;
override kRing: u32 = 1u;
override kEps: f32 = 1e-6;
override kNormsValues: u32 = 1u;
const kThreads = 64u;

@group(0) @binding(0) var<storage, read> step: Step;
@group(0) @binding(1) var<storage, read> norms: array<f32>;
@group(0) @binding(2) var<storage, read> frequencies: array<vec4f>;
@group(0) @binding(3) var<storage, read_write> qkv: array<f32>;
@group(0) @binding(4) var<storage, read_write> k_cache: array<vec4u>;
@group(0) @binding(5) var<storage, read_write> v_cache: array<vec4u>;

@compute @workgroup_size(kThreads)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) t: u32) {
    let token = group.y;
    if (token >= step.tokens) { return; }
    let part = group.x;
    let is_q = part < kHeads;
    let is_k = !is_q && part < kHeads + kKvHeads;
    var base = token * kStride;
    var head = part;
    if (is_k) {
        head = part - kHeads;
        base += kKOffset;
    } else if (!is_q) {
        head = part - kHeads - kKvHeads;
        base += kVOffset;
    }
    base += head * kHeadDim;

    var sum = 0.0;
    for (var i = t; i < kHeadDim; i += kThreads) { sum += qkv[base + i] * qkv[base + i]; }
    let total = sum_workgroup(sum, t, kThreads);
    let scale = 1.0 / sqrt(total / f32(kHeadDim) + kEps);

    let position = position_of(token);
    let pairs = kHeadDim / 2u;
    if (is_q || is_k) {
        let norm = select(kHeadDim, 0u, is_q);
        for (var i = t; i < pairs; i += kThreads) {
            let rotation = cos_sin(revolutions_at(position, frequencies[i]));
            let a = qkv[base + i] * scale * norms[norm + i];
            let b = qkv[base + i + pairs] * scale * norms[norm + i + pairs];
            let first = a * rotation.x - b * rotation.y;
            let second = a * rotation.y + b * rotation.x;
            if (is_q) {
                qkv[base + i] = first;
                qkv[base + i + pairs] = second;
            } else {
                own[i] = first;
                own[i + pairs] = second;
            }
        }
    } else {
        for (var i = t; i < kHeadDim; i += kThreads) { own[i] = qkv[base + i] * select(1.0, scale, kNormsValues == 1u); }
    }
    if (is_q) { return; }
    workgroupBarrier();
    find_absmax(0u, t, kThreads);
    let row = cache_row(cache_first(token), position, head);
    for (var i = t; i < kRowVecs + kScaleVecs; i += kThreads) {
        let is_scale = i >= kRowVecs;
        let at = select(row * kRowVecs + i, scales_at(row) + i - kRowVecs, is_scale);
        var out: vec4u;
        if (is_scale) {
            out = own_scales(0u, i - kRowVecs);
        } else {
            out = own_vec(0u, i);
        }
        if (is_k) {
            k_cache[at] = out;
        } else {
            v_cache[at] = out;
        }
    }
}
