// Q8_0: a vec4 of int8 a run, and a word of two scales (f16), one for each 32. 68 bytes for 64.
const kQuantVecs = 4u;
const kScaleWords = 1u;
const kBlockWords = 0u;
const kPaired = true;
const kShifted = false;

struct Weights { q0: vec4u, q1: vec4u, q2: vec4u, q3: vec4u, scales: u32 }

fn weights(row: u32, u: u32) -> Weights {
    return Weights(quants(row, u, 0u), quants(row, u, 1u), quants(row, u, 2u), quants(row, u, 3u), scale_word(row, u));
}

fn unit_of(w: Weights) -> Unit {
    return Unit(w.q0, w.q1, w.q2, w.q3, unpack2x16float(w.scales).xxyy, vec4f());
}
