// F16 as it lies in the file: 8 elements a vec4.
const kBlockVecs = 4u;

fn chunk_runs(c: u32) -> vec2u {
    return vec2u(c * 32u, c * 32u + 16u);
}

fn chunk_values(row: u32, c: u32) -> array<vec4f, 8> {
    let base = (row * kChunks + c) * kBlockVecs;
    var out: array<vec4f, 8>;
    for (var i = 0u; i < 4u; i++) {
        let v = w[base + i];
        out[2u * i] = vec4f(unpack2x16float(v.x), unpack2x16float(v.y));
        out[2u * i + 1u] = vec4f(unpack2x16float(v.z), unpack2x16float(v.w));
    }
    return out;
}
