// Q4_0: nibbles (low: runs 0 and 1, high: runs 2 and 3), and a word of two scales (f16), one for each 32. 36 bytes for 64.
const kQuantVecs = 2u;
const kScaleWords = 1u;
const kBlockWords = 0u;
const kPaired = true;
const kShifted = true;

struct Weights { a: vec4u, b: vec4u, scales: u32 }

fn weights(row: u32, u: u32) -> Weights {
    return Weights(quants(row, u, 0u), quants(row, u, 1u), scale_word(row, u));
}

fn unit_of(w: Weights) -> Unit {
    let s = unpack2x16float(w.scales).xxyy;
    return Unit(low_nibbles(w.a), low_nibbles(w.b), high_nibbles(w.a), high_nibbles(w.b), s, 8.0 * s);
}
