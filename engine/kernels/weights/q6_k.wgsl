// Q6_K: two vec4 of nibbles (low: runs 0 and 1, high: runs 2 and 3), one of the high pairs (bits 2 r … of byte i: element i
// of run r); a word of four scales (int8); d (f32) for each block of 256. 212 bytes for 256.
//# import weights/quant_group
const kQuantVecs_1 = 3u;
const kScaleWords_1 = 1u;
const kBlockWords_1 = 1u;
const kPaired_1 = false;
const kShifted_1 = true;

struct Weights_1 { a: vec4u, b: vec4u, high: vec4u, scales: u32, d: u32 }

fn weights_1(row: u32, u: u32) -> Weights_1 {
    return Weights_1(quants_1(row, u, 0u), quants_1(row, u, 1u), quants_1(row, u, 2u), scale_word_1(row, u),
                   scale_word_1(row, kQuantGroups_1 + u / 4u));
}

fn quant_group_of_1(w: Weights_1) -> QuantGroup_1 {
    let h = w.high;
    let s = bitcast<f32>(w.d) * signed_bytes(w.scales);
    let pair = vec4u(0x30303030u);
    return QuantGroup_1(low_nibbles_1(w.a) | ((h << vec4u(4u)) & pair), low_nibbles_1(w.b) | ((h << vec4u(2u)) & pair),
                high_nibbles_1(w.a) | (h & pair), high_nibbles_1(w.b) | ((h >> vec4u(2u)) & pair), s, 32.0 * s);
}
