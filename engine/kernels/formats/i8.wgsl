// The rarer encodings, made uniform at upload: a vec4 of int8 a run, then scale and shift of each run in f32. 96 bytes for
// 64. Holds Q4_1, Q5_0, Q5_1, Q2_K, Q3_K, IQ4_NL, IQ4_XS and MXFP4 without loss.
const kQuantVecs = 4u;
const kScaleWords = 8u;
const kBlockWords = 0u;
const kPaired = false;
const kShifted = true;

fn scale_vec(row: u32, i: u32) -> vec4f {
    return bitcast<vec4f>(w[row * kRowVecs + kQuantVecs * kUnits + i]);
}

alias Weights = Unit;

fn weights(row: u32, u: u32) -> Weights {
    return Unit(quants(row, u, 0u), quants(row, u, 1u), quants(row, u, 2u), quants(row, u, 3u),
                scale_vec(row, 2u * u), scale_vec(row, 2u * u + 1u));
}

fn unit_of(w: Weights) -> Unit { return w; }
