// The rarer encodings, made uniform at upload: 32 elements as int8 (2 vec4), then (scale, min) in f32 for each half.
// 48 bytes for 32. Holds Q4_1, Q5_0, Q5_1, Q2_K, Q3_K, IQ4_NL, IQ4_XS and MXFP4 without loss: x = scale · q + min.
const kBlockVecs = 3u;

fn chunk_runs(c: u32) -> vec2u {
    return vec2u(c * 32u, c * 32u + 16u);
}

fn signed_bytes(word: u32) -> vec4f {
    return vec4f(vec4i(vec4u(word << 24u, word << 16u, word << 8u, word)) >> vec4u(24u));
}

fn chunk_values(row: u32, c: u32) -> array<vec4f, 8> {
    let base = (row * kChunks + c) * kBlockVecs;
    let a = w[base];
    let b = w[base + 1u];
    let s = bitcast<vec4f>(w[base + 2u]);
    var out: array<vec4f, 8>;
    for (var i = 0u; i < 4u; i++) {
        out[i] = s.x * signed_bytes(a[i]) + s.y;
        out[i + 4u] = s.z * signed_bytes(b[i]) + s.w;
    }
    return out;
}
