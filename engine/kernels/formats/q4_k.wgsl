// Q4_K: nibbles as they lie in the file (low: elements 0 … 31 of the unit, high: 32 … 63); a word of two scales and two
// mins, six bits in a byte each; d and dmin (f16) for each block of 256. 148 bytes for 256.
const kQuantVecs = 2u;
const kScaleWords = 1u;
const kBlockWords = 1u;
const kPaired = true;
const kShifted = true;

fn unit(row: u32, u: u32) -> Unit {
    let a = quants(row, u, 0u);
    let b = quants(row, u, 1u);
    let d = unpack2x16float(scale_word(row, kUnits + u / 4u));
    let f = small(bytes_of(scale_word(row, u)));
    let s = f.xy * d.x;
    let m = f.zw * d.y;
    return Unit(low_nibbles(a), low_nibbles(b), high_nibbles(a), high_nibbles(b), s.xxyy, m.xxyy);
}
