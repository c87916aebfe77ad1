// Q5_K as it lies in the file: 176 bytes a block of 256 = 11 vec4.
//   [0]: d, dmin (f16), 12 bytes of scales and mins; [1..2]: fifth bits; [3..10]: nibbles.
// Chunks as in Q4_K; the fifth bit of element l of sub-block j is bit j of byte l of the fifth bits.
const kBlockVecs = 11u;

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

// Nibbles with their fifth bits.
fn fives(word: u32, high: u32, shift: u32, bit: u32) -> vec4f {
    let low = (bytes_of(word) >> vec4u(shift)) & vec4u(15u);
    return small(low | (((bytes_of(high) >> vec4u(bit)) & vec4u(1u)) << vec4u(4u)));
}

fn chunk_values(row: u32, c: u32) -> Chunk {
    let base = (row * kChunks / 8u + c / 8u) * kBlockVecs;
    let head = w[base];
    let v = c % 8u;
    let h = w[base + 1u + v % 2u];
    let q = w[base + 3u + v];
    let d = unpack2x16float(head.x);
    let j = (v / 2u) * 2u;
    let e = scale_min(head, j) * d;
    let o = scale_min(head, j + 1u) * d;
    return Chunk(e.x * fives(q.x, h.x, 0u, j) - e.y, e.x * fives(q.y, h.y, 0u, j) - e.y,
                 e.x * fives(q.z, h.z, 0u, j) - e.y, e.x * fives(q.w, h.w, 0u, j) - e.y,
                 o.x * fives(q.x, h.x, 4u, j + 1u) - o.y, o.x * fives(q.y, h.y, 4u, j + 1u) - o.y,
                 o.x * fives(q.z, h.z, 4u, j + 1u) - o.y, o.x * fives(q.w, h.w, 4u, j + 1u) - o.y);
}
