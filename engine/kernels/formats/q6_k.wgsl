// Q6_K: two vec4 of nibbles (low: runs 0 and 1, high: runs 2 and 3), one of the high pairs (bits 2 r … of byte i: element i
// of run r); a word of four scales (int8); d (f32) for each block of 256. 212 bytes for 256.
const kQuantVecs = 3u;
const kScaleWords = 1u;
const kBlockWords = 1u;
const kPaired = false;
const kShifted = true;

fn unit(row: u32, u: u32) -> Unit {
    let a = quants(row, u, 0u);
    let b = quants(row, u, 1u);
    let h = quants(row, u, 2u);
    let d = bitcast<f32>(scale_word(row, kUnits + u / 4u));
    let s = d * signed_bytes(scale_word(row, u));
    let pair = vec4u(0x30303030u);
    return Unit(low_nibbles(a) | ((h << vec4u(4u)) & pair), low_nibbles(b) | ((h << vec4u(2u)) & pair),
                high_nibbles(a) | (h & pair), high_nibbles(b) | ((h >> vec4u(2u)) & pair), s, 32.0 * s);
}
