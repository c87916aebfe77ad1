// Q5_K as it lies in the file: 176 bytes a block of 256 = 11 vec4.
//   [0]: d, dmin (f16), 12 bytes of scales and mins; [1..2]: fifth bits; [3..10]: nibbles.
// Chunks as in Q4_K; the fifth bit of element l of sub-block j is bit j of byte l of the fifth bits.
const kBlockVecs = 11u;

fn chunk_runs(c: u32) -> vec2u {
    let v = c % 8u;
    let first = (c / 8u) * 256u + (v / 2u) * 64u + (v % 2u) * 16u;
    return vec2u(first, first + 32u);
}

fn scale_byte(head: vec4u, i: u32) -> u32 {
    return (head[1u + i / 4u] >> (8u * (i % 4u))) & 255u;
}

fn scale_min(head: vec4u, j: u32) -> vec2f {
    if (j < 4u) {
        return vec2f(f32(scale_byte(head, j) & 63u), f32(scale_byte(head, j + 4u) & 63u));
    }
    let low = scale_byte(head, j + 4u);
    return vec2f(f32((low & 15u) | ((scale_byte(head, j - 4u) >> 6u) << 4u)),
                 f32((low >> 4u) | ((scale_byte(head, j) >> 6u) << 4u)));
}

fn bytes_of(word: u32) -> vec4u {
    return vec4u(word, word >> 8u, word >> 16u, word >> 24u) & vec4u(255u);
}

fn chunk_values(row: u32, c: u32) -> array<vec4f, 8> {
    let base = (row * kChunks / 8u + c / 8u) * kBlockVecs;
    let head = w[base];
    let v = c % 8u;
    let fifth = w[base + 1u + v % 2u];
    let q = w[base + 3u + v];
    let d = unpack2x16float(head.x);
    let j = (v / 2u) * 2u;
    let even = scale_min(head, j) * d;
    let odd = scale_min(head, j + 1u) * d;
    var out: array<vec4f, 8>;
    for (var i = 0u; i < 4u; i++) {
        let low = bytes_of(q[i]);
        let high = bytes_of(fifth[i]);
        out[i] = even.x * vec4f((low & vec4u(15u)) | (((high >> vec4u(j)) & vec4u(1u)) << vec4u(4u))) - even.y;
        out[i + 4u] = odd.x * vec4f((low >> vec4u(4u)) | (((high >> vec4u(j + 1u)) & vec4u(1u)) << vec4u(4u))) - odd.y;
    }
    return out;
}
