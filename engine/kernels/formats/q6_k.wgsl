// Q6_K repacked in groups of 4 blocks, so that every part can be loaded in 16 bytes: 4 × 13 vec4, then one vec4 of
// their 4 factors d (f32). 212 bytes for 256.
//   [0..7]: low nibbles (ql); [8..11]: high pairs (qh); [12]: 16 scales (int8).
// A chunk is one vec4 of ql: 16 elements from its low nibbles and, 64 further on, 16 from its high nibbles.
const kBlockVecs = 13u;
const kGroupVecs = 53u;

fn chunk_runs(c: u32) -> vec2u {
    let v = c % 8u;
    let first = (c / 8u) * 256u + (v / 4u) * 128u + (v % 4u) * 16u;
    return vec2u(first, first + 64u);
}

fn bytes_of(word: u32) -> vec4u {
    return vec4u(word, word >> 8u, word >> 16u, word >> 24u) & vec4u(255u);
}

fn scale_of(scales: vec4u, i: u32) -> f32 {
    return f32(i32(scales[i / 4u] << (24u - 8u * (i % 4u))) >> 24u);
}

fn chunk_values(row: u32, c: u32) -> array<vec4f, 8> {
    // Blocks are numbered through the whole tensor: a row need not fill a group.
    let block = row * kChunks / 8u + c / 8u;
    let group = (block / 4u) * kGroupVecs;
    let base = group + (block % 4u) * kBlockVecs;
    let v = c % 8u;
    let half = v / 4u;
    let s = v % 4u;
    let ql = w[base + v];
    let qh = w[base + 8u + half * 2u + s % 2u];
    let scales = w[base + 12u];
    let d = bitcast<f32>(w[group + 52u][block % 4u]);
    let scale_low = d * scale_of(scales, 8u * half + s);
    let scale_high = d * scale_of(scales, 8u * half + 4u + s);
    let shift = 2u * (s / 2u);
    var out: array<vec4f, 8>;
    for (var i = 0u; i < 4u; i++) {
        let low = bytes_of(ql[i]);
        let high = bytes_of(qh[i]);
        let a = (low & vec4u(15u)) | (((high >> vec4u(shift)) & vec4u(3u)) << vec4u(4u));
        let b = (low >> vec4u(4u)) | (((high >> vec4u(shift + 4u)) & vec4u(3u)) << vec4u(4u));
        out[i] = scale_low * (vec4f(a) - 32.0);
        out[i + 4u] = scale_high * (vec4f(b) - 32.0);
    }
    return out;
}
