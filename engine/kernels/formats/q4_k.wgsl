// Q4_K as it lies in the file: 144 bytes a block of 256 = 9 vec4.
//   [0]: d, dmin (f16), then 12 bytes of 6-bit scales and mins; [1..8]: nibbles.
// A chunk is one vec4 of nibbles: 16 elements of an even sub-block (low nibbles), 16 of the next one (high nibbles).
const kBlockVecs = 9u;

fn chunk_runs(c: u32) -> vec2u {
    let v = c % 8u;
    let first = (c / 8u) * 256u + (v / 2u) * 64u + (v % 2u) * 16u;
    return vec2u(first, first + 32u);
}

fn scale_byte(head: vec4u, i: u32) -> u32 {
    return (head[1u + i / 4u] >> (8u * (i % 4u))) & 255u;
}

// (scale, min) of sub-block j, both 0..63.
fn scale_min(head: vec4u, j: u32) -> vec2f {
    if (j < 4u) {
        return vec2f(f32(scale_byte(head, j) & 63u), f32(scale_byte(head, j + 4u) & 63u));
    }
    let low = scale_byte(head, j + 4u);
    return vec2f(f32((low & 15u) | ((scale_byte(head, j - 4u) >> 6u) << 4u)),
                 f32((low >> 4u) | ((scale_byte(head, j) >> 6u) << 4u)));
}

fn nibbles(word: u32, shift: u32) -> vec4f {
    return vec4f((vec4u(word, word >> 8u, word >> 16u, word >> 24u) >> vec4u(shift)) & vec4u(15u));
}

fn chunk_values(row: u32, c: u32) -> array<vec4f, 8> {
    let base = (row * kChunks / 8u + c / 8u) * kBlockVecs;
    let head = w[base];
    let v = c % 8u;
    let q = w[base + 1u + v];
    let d = unpack2x16float(head.x);
    let even = scale_min(head, (v / 2u) * 2u) * d;
    let odd = scale_min(head, (v / 2u) * 2u + 1u) * d;
    var out: array<vec4f, 8>;
    for (var i = 0u; i < 4u; i++) {
        out[i] = even.x * nibbles(q[i], 0u) - even.y;
        out[i + 4u] = odd.x * nibbles(q[i], 4u) - odd.y;
    }
    return out;
}
