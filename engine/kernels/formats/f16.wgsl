// F16 as it lies in the file: 8 elements a vec4.
const kBlockVecs = 4u;

fn chunk_runs(c: u32) -> vec2u {
    return vec2u(c * 32u, c * 32u + 16u);
}

fn chunk_values(row: u32, c: u32) -> Chunk {
    let base = (row * kChunks + c) * kBlockVecs;
    let p = w[base];
    let q = w[base + 1u];
    let r = w[base + 2u];
    let s = w[base + 3u];
    return Chunk(vec4f(unpack2x16float(p.x), unpack2x16float(p.y)), vec4f(unpack2x16float(p.z), unpack2x16float(p.w)),
                 vec4f(unpack2x16float(q.x), unpack2x16float(q.y)), vec4f(unpack2x16float(q.z), unpack2x16float(q.w)),
                 vec4f(unpack2x16float(r.x), unpack2x16float(r.y)), vec4f(unpack2x16float(r.z), unpack2x16float(r.w)),
                 vec4f(unpack2x16float(s.x), unpack2x16float(s.y)), vec4f(unpack2x16float(s.z), unpack2x16float(s.w)));
}
