// Q4_K as it lies in the file: 144 bytes a block of 256 = 9 vec4.
//   [0]: d, dmin (f16), then 12 bytes of 6-bit scales and mins; [1..8]: nibbles.
// A chunk is one vec4 of nibbles: 16 elements of an even sub-block (low nibbles), 16 of the next one (high nibbles).
const kBlockVecs = 9u;

fn chunk_runs(c: u32) -> vec2u {
    let v = c % 8u;
    let first = (c / 8u) * 256u + (v / 2u) * 64u + (v % 2u) * 16u;
    return vec2u(first, first + 32u);
}

// (scale, min) of sub-block j, both 0..63: six bits each, in three words.
fn scale_min(head: vec4u, j: u32) -> vec2f {
    let shift = vec3u(8u * (j & 3u));
    let b = (head.yzw >> shift) & vec3u(255u);
    if (j < 4u) { return vec2f(b.xy & vec2u(63u)); }
    return vec2f(vec2u(b.z & 15u, b.z >> 4u) | ((b.xy >> vec2u(6u)) << vec2u(4u)));
}

fn chunk_values(row: u32, c: u32) -> Chunk {
    let base = (row * kChunks / 8u + c / 8u) * kBlockVecs;
    let head = w[base];
    let v = c % 8u;
    let q = w[base + 1u + v];
    let d = unpack2x16float(head.x);
    let e = scale_min(head, (v / 2u) * 2u) * d;
    let o = scale_min(head, (v / 2u) * 2u + 1u) * d;
    return Chunk(e.x * nibbles(q.x, 0u) - e.y, e.x * nibbles(q.y, 0u) - e.y,
                 e.x * nibbles(q.z, 0u) - e.y, e.x * nibbles(q.w, 0u) - e.y,
                 o.x * nibbles(q.x, 4u) - o.y, o.x * nibbles(q.y, 4u) - o.y,
                 o.x * nibbles(q.z, 4u) - o.y, o.x * nibbles(q.w, 4u) - o.y);
}
