// Q4_0 repacked in groups of 8 blocks: 8 vec4 of nibbles, then one vec4 of their 8 scales (f16). 144 bytes for 256.
// A chunk is one block: low nibbles are elements 0..15, high nibbles 16..31.
const kBlockVecs = 9u;

fn chunk_runs(c: u32) -> vec2u {
    return vec2u(c * 32u, c * 32u + 16u);
}

fn nibbles(word: u32, shift: u32) -> vec4f {
    return vec4f((vec4u(word, word >> 8u, word >> 16u, word >> 24u) >> vec4u(shift)) & vec4u(15u));
}

fn chunk_values(row: u32, c: u32) -> array<vec4f, 8> {
    // Blocks are numbered through the whole tensor: a row need not fill a group.
    let block = row * kChunks + c;
    let base = (block / 8u) * kBlockVecs;
    let q = w[base + block % 8u];
    let d = unpack2x16float(w[base + 8u][(block % 8u) / 2u])[block % 2u];
    var out: array<vec4f, 8>;
    for (var i = 0u; i < 4u; i++) {
        out[i] = d * (nibbles(q[i], 0u) - 8.0);
        out[i + 4u] = d * (nibbles(q[i], 4u) - 8.0);
    }
    return out;
}
