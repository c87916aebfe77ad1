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

fn unit(row: u32, u: u32) -> Unit {
    let a = quants(row, u, 0u);
    let b = quants(row, u, 1u);
    let d = unpack2x16float(scale_word(row, 3u * kUnits + u / 4u));
    let f = small(bytes_of(scale_word(row, 3u * u)));
    let low = scale_word(row, 3u * u + 1u);
    let high = scale_word(row, 3u * u + 2u);
    let s = f.xy * d.x;
    let m = f.zw * d.y;
    return Unit(low_nibbles(a) | fifth_bits(low, 0u), low_nibbles(b) | fifth_bits(low, 4u),
                high_nibbles(a) | fifth_bits(high, 0u), high_nibbles(b) | fifth_bits(high, 4u), s.xxyy, m.xxyy);
}
