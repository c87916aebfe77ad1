// Q4_K: nibbles as they lie in the file (low: elements 0 … 31 of the unit, high: 32 … 63); a word of two scales and two
// mins, six bits in a byte each; d and dmin (f16) for each block of 256. 148 bytes for 256.
const kQuantVecs = 2u;
const kScaleWords = 1u;
const kBlockWords = 1u;
const kPaired = true;
const kShifted = true;

struct Weights { a: vec4u, b: vec4u, scales: u32, d: u32 }

fn weights(row: u32, u: u32) -> Weights {
    return Weights(quants(row, u, 0u), quants(row, u, 1u), scale_word(row, u), scale_word(row, kUnits + u / 4u));
}

fn unit_of(w: Weights) -> Unit {
    let d = unpack2x16float(w.d);
    let f = small(bytes_of(w.scales));
    let s = f.xy * d.x;
    let m = f.zw * d.y;
    return Unit(low_nibbles(w.a), low_nibbles(w.b), high_nibbles(w.a), high_nibbles(w.b), s.xxyy, m.xxyy);
}
