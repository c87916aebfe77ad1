// F32 as it lies in the file: 4 elements a vec4.
const kBlockVecs = 8u;

fn chunk_runs(c: u32) -> vec2u {
    return vec2u(c * 32u, c * 32u + 16u);
}

fn chunk_values(row: u32, c: u32) -> Chunk {
    let base = (row * kChunks + c) * kBlockVecs;
    return Chunk(bitcast<vec4f>(w[base]), bitcast<vec4f>(w[base + 1u]), bitcast<vec4f>(w[base + 2u]),
                 bitcast<vec4f>(w[base + 3u]), bitcast<vec4f>(w[base + 4u]), bitcast<vec4f>(w[base + 5u]),
                 bitcast<vec4f>(w[base + 6u]), bitcast<vec4f>(w[base + 7u]));
}
