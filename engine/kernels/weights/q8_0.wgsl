// Q8_0: a vec4 of int8 a run, and a word of two scales (f16), one for each 32. 68 bytes for 64.
//# import weights/quant_group
const kQuantVecs_1 = 4u;
const kScaleWords_1 = 1u;
const kBlockWords_1 = 0u;
const kPaired_1 = true;
const kShifted_1 = false;

struct Weights_1 { q0: vec4u, q1: vec4u, q2: vec4u, q3: vec4u, scales: u32 }

fn weights_1(row: u32, u: u32) -> Weights_1 {
    return Weights_1(quants_1(row, u, 0u), quants_1(row, u, 1u), quants_1(row, u, 2u), quants_1(row, u, 3u), scale_word_1(row, u));
}

fn quant_group_of_1(w: Weights_1) -> QuantGroup_1 {
    return QuantGroup_1(w.q0, w.q1, w.q2, w.q3, unpack2x16float(w.scales).xxyy, vec4f());
}
