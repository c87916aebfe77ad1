// Q5_K: as Q4_K, and two words of fifth bits behind each quant group's scales: bit i of byte j of a word belongs to element
// 4 i + j of the half it stands for. 180 bytes for 256.
//# import weights/quant_group
const kQuantVecs_1 = 2u;
const kScaleWords_1 = 3u;
const kBlockWords_1 = 1u;
const kPaired_1 = true;
const kShifted_1 = true;

// Bits `first` … first + 3 of each byte, one a word, where a nibble's fifth bit belongs.
fn fifth_bits_1(bits: u32, first: u32) -> vec4u {
    let b = bits >> first;
    return (vec4u(b << 4u, b << 3u, b << 2u, b << 1u)) & vec4u(0x10101010u);
}

struct Weights_1 { a: vec4u, b: vec4u, scales: u32, low: u32, high: u32, d: u32 }

fn weights_1(row: u32, u: u32) -> Weights_1 {
    return Weights_1(quants_1(row, u, 0u), quants_1(row, u, 1u), scale_word_1(row, 3u * u), scale_word_1(row, 3u * u + 1u),
                   scale_word_1(row, 3u * u + 2u), scale_word_1(row, 3u * kQuantGroups_1 + u / 4u));
}

fn quant_group_of_1(w: Weights_1) -> QuantGroup_1 {
    let d = unpack2x16float(w.d);
    let f = small_to_f32(bytes_of(w.scales));
    let s = f.xy * d.x;
    let m = f.zw * d.y;
    return QuantGroup_1(low_nibbles_1(w.a) | fifth_bits_1(w.low, 0u), low_nibbles_1(w.b) | fifth_bits_1(w.low, 4u),
                high_nibbles_1(w.a) | fifth_bits_1(w.high, 0u), high_nibbles_1(w.b) | fifth_bits_1(w.high, 4u), s.xxyy, m.xxyy);
}
