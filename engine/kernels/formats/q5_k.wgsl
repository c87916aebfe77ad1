// Q5_K: as Q4_K, and two words of fifth bits behind each unit's scales: bit i of byte j of a word belongs to element
// 4 i + j of the half it stands for. 180 bytes for 256.
const kQuantVecs = 2u;
const kScaleWords = 3u;
const kBlockWords = 1u;
const kPaired = true;
const kShifted = true;

// Bits `first` … first + 3 of each byte, one a word, where a nibble's fifth bit belongs.
fn fifth_bits(bits: u32, first: u32) -> vec4u {
    let b = bits >> first;
    return (vec4u(b << 4u, b << 3u, b << 2u, b << 1u)) & vec4u(0x10101010u);
}

struct Weights { a: vec4u, b: vec4u, scales: u32, low: u32, high: u32, d: u32 }

fn weights(row: u32, u: u32) -> Weights {
    return Weights(quants(row, u, 0u), quants(row, u, 1u), scale_word(row, 3u * u), scale_word(row, 3u * u + 1u),
                   scale_word(row, 3u * u + 2u), scale_word(row, 3u * kUnits + u / 4u));
}

fn unit_of(w: Weights) -> Unit {
    let d = unpack2x16float(w.d);
    let f = small(bytes_of(w.scales));
    let s = f.xy * d.x;
    let m = f.zw * d.y;
    return Unit(low_nibbles(w.a) | fifth_bits(w.low, 0u), low_nibbles(w.b) | fifth_bits(w.low, 4u),
                high_nibbles(w.a) | fifth_bits(w.high, 0u), high_nibbles(w.b) | fifth_bits(w.high, 4u), s.xxyy, m.xxyy);
}
