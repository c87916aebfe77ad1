// The rarer encodings, made uniform at upload: 32 elements as int8 (2 vec4), then (scale, min) in f32 for each half.
// 48 bytes for 32. Holds Q4_1, Q5_0, Q5_1, Q2_K, Q3_K, IQ4_NL, IQ4_XS and MXFP4 without loss: x = scale · q + min.
const kBlockVecs = 3u;

fn chunk_runs(c: u32) -> vec2u {
    return vec2u(c * 32u, c * 32u + 16u);
}

fn chunk_values(row: u32, c: u32) -> Chunk {
    let base = (row * kChunks + c) * kBlockVecs;
    let a = w[base];
    let b = w[base + 1u];
    let s = bitcast<vec4f>(w[base + 2u]);
    return Chunk(s.x * signed_bytes(a.x) + s.y, s.x * signed_bytes(a.y) + s.y, s.x * signed_bytes(a.z) + s.y,
                 s.x * signed_bytes(a.w) + s.y, s.z * signed_bytes(b.x) + s.w, s.z * signed_bytes(b.y) + s.w,
                 s.z * signed_bytes(b.z) + s.w, s.z * signed_bytes(b.w) + s.w);
}
