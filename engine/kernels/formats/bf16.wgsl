// BF16 as it lies in the file: 8 elements a vec4, each the upper half of an f32.
const kBlockVecs = 4u;

fn chunk_runs(c: u32) -> vec2u {
    return vec2u(c * 32u, c * 32u + 16u);
}

fn pair(word: u32) -> vec2f {
    return bitcast<vec2f>(vec2u(word << 16u, word & 0xFFFF0000u));
}

fn chunk_values(row: u32, c: u32) -> array<vec4f, 8> {
    let base = (row * kChunks + c) * kBlockVecs;
    var out: array<vec4f, 8>;
    for (var i = 0u; i < 4u; i++) {
        let v = w[base + i];
        out[2u * i] = vec4f(pair(v.x), pair(v.y));
        out[2u * i + 1u] = vec4f(pair(v.z), pair(v.w));
    }
    return out;
}
