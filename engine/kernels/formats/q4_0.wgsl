// Q4_0 repacked in groups of 8 blocks: 8 vec4 of nibbles, then one vec4 of their 8 scales (f16). 144 bytes for 256.
// A chunk is one block: low nibbles are elements 0..15, high nibbles 16..31.
const kBlockVecs = 9u;

fn chunk_runs(c: u32) -> vec2u {
    return vec2u(c * 32u, c * 32u + 16u);
}

fn chunk_values(row: u32, c: u32) -> Chunk {
    // Blocks are numbered through the whole tensor: a row need not fill a group.
    let block = row * kChunks + c;
    let base = (block / 8u) * kBlockVecs;
    let q = w[base + block % 8u];
    let pair = unpack2x16float(pick(w[base + 8u], (block % 8u) / 2u));
    let d = select(pair.x, pair.y, block % 2u == 1u);
    return Chunk(d * (nibbles(q.x, 0u) - 8.0), d * (nibbles(q.y, 0u) - 8.0), d * (nibbles(q.z, 0u) - 8.0),
                 d * (nibbles(q.w, 0u) - 8.0), d * (nibbles(q.x, 4u) - 8.0), d * (nibbles(q.y, 4u) - 8.0),
                 d * (nibbles(q.z, 4u) - 8.0), d * (nibbles(q.w, 4u) - 8.0));
}
