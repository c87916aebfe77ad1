// Q4_0: nibbles (low: runs 0 and 1, high: runs 2 and 3), and a word of two scales (f16), one for each 32. 36 bytes for 64.
//# import weights/quant_group
const kQuantVecs_1 = 2u;
const kScaleWords_1 = 1u;
const kBlockWords_1 = 0u;
const kPaired_1 = true;
const kShifted_1 = true;

struct Weights_1 { a: vec4u, b: vec4u, scales: u32 }

fn weights_1(row: u32, u: u32) -> Weights_1 {
    return Weights_1(quants_1(row, u, 0u), quants_1(row, u, 1u), scale_word_1(row, u));
}

fn quant_group_of_1(w: Weights_1) -> QuantGroup_1 {
    let s = unpack2x16float(w.scales).xxyy;
    return QuantGroup_1(low_nibbles_1(w.a), low_nibbles_1(w.b), high_nibbles_1(w.a), high_nibbles_1(w.b), s, 8.0 * s);
}
