// Q4_0: nibbles (low: runs 0 and 1, high: runs 2 and 3), and a word of two scales (f16), one for each 32. 36 bytes for 64.
const kQuantVecs = 2u;
const kScaleWords = 1u;
const kBlockWords = 0u;
const kPaired = true;
const kShifted = true;

fn unit(row: u32, u: u32) -> Unit {
    let a = quants(row, u, 0u);
    let b = quants(row, u, 1u);
    let s = unpack2x16float(scale_word(row, u)).xxyy;
    return Unit(low_nibbles(a), low_nibbles(b), high_nibbles(a), high_nibbles(b), s, 8.0 * s);
}
