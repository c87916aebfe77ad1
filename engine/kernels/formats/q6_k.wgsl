// Q6_K repacked in groups of 4 blocks, so that every part can be loaded in 16 bytes: 4 × 13 vec4, then one vec4 of
// their 4 factors d (f32). 212 bytes for 256.
//   [0..7]: low nibbles (ql); [8..11]: high pairs (qh); [12]: 16 scales (int8).
// A chunk is one vec4 of ql: 16 elements from its low nibbles and, 64 further on, 16 from its high nibbles.
const kBlockVecs = 13u;
const kGroupVecs = 53u;

fn chunk_runs(c: u32) -> vec2u {
    let v = c % 8u;
    let first = (c / 8u) * 256u + (v / 4u) * 128u + (v % 4u) * 16u;
    return vec2u(first, first + 64u);
}

fn signed_byte(word: u32, i: u32) -> f32 {
    return f32(i32(word << (24u - 8u * i)) >> 24u);
}

// Nibbles with their two high bits, less 32.
fn sixes(word: u32, high: u32, shift: u32, bits: u32) -> vec4f {
    let low = (bytes_of(word) >> vec4u(shift)) & vec4u(15u);
    return small(low | (((bytes_of(high) >> vec4u(bits)) & vec4u(3u)) << vec4u(4u))) - 32.0;
}

fn chunk_values(row: u32, c: u32) -> Chunk {
    // Blocks are numbered through the whole tensor: a row need not fill a group.
    let block = row * kChunks / 8u + c / 8u;
    let group = (block / 4u) * kGroupVecs;
    let base = group + (block % 4u) * kBlockVecs;
    let v = c % 8u;
    let second = v > 3u;  // half of the block
    let s = v % 4u;
    let q = w[base + v];
    let h = w[base + 8u + (v / 4u) * 2u + s % 2u];
    let scales = w[base + 12u];
    let d = bitcast<f32>(pick(w[group + 52u], block % 4u));
    let l = d * signed_byte(select(scales.x, scales.z, second), s);
    let u = d * signed_byte(select(scales.y, scales.w, second), s);
    let bits = 2u * (s / 2u);
    return Chunk(l * sixes(q.x, h.x, 0u, bits), l * sixes(q.y, h.y, 0u, bits),
                 l * sixes(q.z, h.z, 0u, bits), l * sixes(q.w, h.w, 0u, bits),
                 u * sixes(q.x, h.x, 4u, bits + 4u), u * sixes(q.y, h.y, 4u, bits + 4u),
                 u * sixes(q.z, h.z, 4u, bits + 4u), u * sixes(q.w, h.w, 4u, bits + 4u));
}
