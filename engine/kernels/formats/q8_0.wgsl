// Q8_0 repacked in groups of 8 blocks: 16 vec4 of int8, then one vec4 of their 8 scales (f16). 272 bytes for 256.
const kBlockVecs = 17u;

fn chunk_runs(c: u32) -> vec2u {
    return vec2u(c * 32u, c * 32u + 16u);
}

fn signed_bytes(word: u32) -> vec4f {
    return vec4f(vec4i(vec4u(word << 24u, word << 16u, word << 8u, word)) >> vec4u(24u));
}

fn chunk_values(row: u32, c: u32) -> array<vec4f, 8> {
    let block = row * kChunks + c;
    let base = (block / 8u) * kBlockVecs;
    let at = base + 2u * (block % 8u);
    let a = w[at];
    let b = w[at + 1u];
    let d = unpack2x16float(w[base + 16u][(block % 8u) / 2u])[block % 2u];
    var out: array<vec4f, 8>;
    for (var i = 0u; i < 4u; i++) {
        out[i] = d * signed_bytes(a[i]);
        out[i + 4u] = d * signed_bytes(b[i]);
    }
    return out;
}
