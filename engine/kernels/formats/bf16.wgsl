// BF16 as it lies in the file: 8 elements a vec4, each the upper half of an f32.
const kBlockVecs = 4u;

fn chunk_runs(c: u32) -> vec2u {
    return vec2u(c * 32u, c * 32u + 16u);
}

fn pair(word: u32) -> vec2f {
    return bitcast<vec2f>(vec2u(word << 16u, word & 0xFFFF0000u));
}

fn chunk_values(row: u32, c: u32) -> Chunk {
    let base = (row * kChunks + c) * kBlockVecs;
    let p = w[base];
    let q = w[base + 1u];
    let r = w[base + 2u];
    let s = w[base + 3u];
    return Chunk(vec4f(pair(p.x), pair(p.y)), vec4f(pair(p.z), pair(p.w)),
                 vec4f(pair(q.x), pair(q.y)), vec4f(pair(q.z), pair(q.w)),
                 vec4f(pair(r.x), pair(r.y)), vec4f(pair(r.z), pair(r.w)),
                 vec4f(pair(s.x), pair(s.y)), vec4f(pair(s.z), pair(s.w)));
}
