// F32 as it lies in the file: 4 elements a vec4.
const kBlockVecs = 8u;

fn chunk_runs(c: u32) -> vec2u {
    return vec2u(c * 32u, c * 32u + 16u);
}

fn chunk_values(row: u32, c: u32) -> array<vec4f, 8> {
    let base = (row * kChunks + c) * kBlockVecs;
    var out: array<vec4f, 8>;
    for (var i = 0u; i < 8u; i++) {
        out[i] = bitcast<vec4f>(w[base + i]);
    }
    return out;
}
