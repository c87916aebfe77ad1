// Q4_K: nibbles as they lie in the file (low: elements 0 … 31 of the quant group, high: 32 … 63); a word of two scales and two
// mins, six bits in a byte each; d and dmin (f16) for each block of 256. 148 bytes for 256.
//# import weights/quant_group
const kQuantVecs_1 = 2u;
const kScaleWords_1 = 1u;
const kBlockWords_1 = 1u;
const kPaired_1 = true;
const kShifted_1 = true;

struct Weights_1 { a: vec4u, b: vec4u, scales: u32, d: u32 }

fn weights_1(row: u32, u: u32) -> Weights_1 {
    return Weights_1(quants_1(row, u, 0u), quants_1(row, u, 1u), scale_word_1(row, u), scale_word_1(row, kQuantGroups_1 + u / 4u));
}

fn quant_group_of_1(w: Weights_1) -> QuantGroup_1 {
    let d = unpack2x16float(w.d);
    let f = small_to_f32(bytes_of(w.scales));
    let s = f.xy * d.x;
    let m = f.zw * d.y;
    return QuantGroup_1(low_nibbles_1(w.a), low_nibbles_1(w.b), high_nibbles_1(w.a), high_nibbles_1(w.b), s.xxyy, m.xxyy);
}
