// Q6_K: two vec4 of nibbles (low: runs 0 and 1, high: runs 2 and 3), one of the high pairs (bits 2 r … of byte i: element i
// of run r); a word of four scales (int8); d (f32) for each block of 256. 212 bytes for 256.
const kQuantVecs = 3u;
const kScaleWords = 1u;
const kBlockWords = 1u;
const kPaired = false;
const kShifted = true;

struct Weights { a: vec4u, b: vec4u, high: vec4u, scales: u32, d: u32 }

fn weights(row: u32, u: u32) -> Weights {
    return Weights(quants(row, u, 0u), quants(row, u, 1u), quants(row, u, 2u), scale_word(row, u),
                   scale_word(row, kUnits + u / 4u));
}

fn unit_of(w: Weights) -> Unit {
    let h = w.high;
    let s = bitcast<f32>(w.d) * signed_bytes(w.scales);
    let pair = vec4u(0x30303030u);
    return Unit(low_nibbles(w.a) | ((h << vec4u(4u)) & pair), low_nibbles(w.b) | ((h << vec4u(2u)) & pair),
                high_nibbles(w.a) | (h & pair), high_nibbles(w.b) | ((h >> vec4u(2u)) & pair), s, 32.0 * s);
}
