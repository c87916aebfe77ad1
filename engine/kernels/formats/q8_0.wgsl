// Q8_0 repacked in groups of 8 blocks: 16 vec4 of int8, then one vec4 of their 8 scales (f16). 272 bytes for 256.
const kBlockVecs = 17u;

fn chunk_runs(c: u32) -> vec2u {
    return vec2u(c * 32u, c * 32u + 16u);
}

fn chunk_values(row: u32, c: u32) -> Chunk {
    let block = row * kChunks + c;
    let base = (block / 8u) * kBlockVecs;
    let at = base + 2u * (block % 8u);
    let a = w[at];
    let b = w[at + 1u];
    let pair = unpack2x16float(pick(w[base + 16u], (block % 8u) / 2u));
    let d = select(pair.x, pair.y, block % 2u == 1u);
    return Chunk(d * signed_bytes(a.x), d * signed_bytes(a.y), d * signed_bytes(a.z), d * signed_bytes(a.w),
                 d * signed_bytes(b.x), d * signed_bytes(b.y), d * signed_bytes(b.z), d * signed_bytes(b.w));
}
