// Q8_0: a vec4 of int8 a run, and a word of two scales (f16), one for each 32. 68 bytes for 64.
const kQuantVecs = 4u;
const kScaleWords = 1u;
const kBlockWords = 0u;
const kPaired = true;
const kShifted = false;

fn unit(row: u32, u: u32) -> Unit {
    return Unit(quants(row, u, 0u), quants(row, u, 1u), quants(row, u, 2u), quants(row, u, 3u),
                unpack2x16float(scale_word(row, u)).xxyy, vec4f());
}
