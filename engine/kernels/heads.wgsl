// heads — what happens to Q, K and V between their projection and attention, one workgroup a head and token:
//   q = rope(rms(q; q_norm)) in place;  k = rope(rms(k; k_norm)) → cache;  v = rms(v) → cache
// qkv: [tokens, kStride] with q at 0, k at kKOffset, v at kVOffset (the same as k's where values are the raw keys).
// norms: [2, head_dim], q's then k's. rates: [head_dim / 2], turns a position in three parts.
// cache: [kRing, kv_heads, head_dim], K then V; position p is at p mod kRing. kHalf 1: two f16 a word.
// grid: (heads + 2 · kv_heads, tokens); kKvHeads 0 when the layer uses another one's K and V.
override kHeads: u32;
override kKvHeads: u32;
override kDim: u32;
override kStride: u32;
override kKOffset: u32 = 0u;
override kVOffset: u32 = 0u;
override kRing: u32 = 1u;
override kHalf: u32 = 0u;
override kEps: f32 = 1e-6;
const kThreads = 64u;

@group(0) @binding(0) var<storage, read> step: Step;
@group(0) @binding(1) var<storage, read> norms: array<f32>;
@group(0) @binding(2) var<storage, read> rates: array<vec4f>;
@group(0) @binding(3) var<storage, read_write> qkv: array<f32>;
@group(0) @binding(4) var<storage, read_write> k_cache: array<u32>;
@group(0) @binding(5) var<storage, read_write> v_cache: array<u32>;

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
    base += head * kDim;

    var sum = 0.0;
    for (var i = t; i < kDim; i += kThreads) { sum += qkv[base + i] * qkv[base + i]; }
    let total = sum_workgroup(sum, t, kThreads);
    let scale = 1.0 / sqrt(total / f32(kDim) + kEps);

    let position = step.position + token;
    let pairs = kDim / 2u;
    let slot = ((position % kRing) * kKvHeads + head) * kDim;
    if (is_q || is_k) {
        let norm = select(kDim, 0u, is_q);
        // Two neighbouring pairs a thread, so that a packed cache word has one writer.
        for (var i = 2u * t; i < pairs; i += 2u * kThreads) {
            var first = vec2f();
            var second = vec2f();
            for (var j = 0u; j < 2u; j++) {
                let at = i + j;
                let turn = cos_sin(turns_at(position, rates[at]));
                let a = qkv[base + at] * scale * norms[norm + at];
                let b = qkv[base + at + pairs] * scale * norms[norm + at + pairs];
                first[j] = a * turn.x - b * turn.y;
                second[j] = a * turn.y + b * turn.x;
            }
            if (is_q) {
                qkv[base + i] = first.x;
                qkv[base + i + 1u] = first.y;
                qkv[base + i + pairs] = second.x;
                qkv[base + i + pairs + 1u] = second.y;
            } else if (kHalf == 1u) {
                k_cache[(slot + i) / 2u] = pack_halves(first);
                k_cache[(slot + i + pairs) / 2u] = pack_halves(second);
            } else {
                k_cache[slot + i] = bitcast<u32>(first.x);
                k_cache[slot + i + 1u] = bitcast<u32>(first.y);
                k_cache[slot + i + pairs] = bitcast<u32>(second.x);
                k_cache[slot + i + pairs + 1u] = bitcast<u32>(second.y);
            }
        }
        return;
    }
    for (var i = 2u * t; i < kDim; i += 2u * kThreads) {
        let v = vec2f(qkv[base + i], qkv[base + i + 1u]) * scale;
        if (kHalf == 1u) {
            v_cache[(slot + i) / 2u] = pack_halves(v);
        } else {
            v_cache[slot + i] = bitcast<u32>(v.x);
            v_cache[slot + i + 1u] = bitcast<u32>(v.y);
        }
    }
}
