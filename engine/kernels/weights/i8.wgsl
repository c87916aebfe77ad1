// The rarer encodings, made uniform at upload: a vec4 of int8 a run, then scale and shift of each run in f32. 96 bytes for
// 64. Holds Q4_1, Q5_0, Q5_1, Q2_K, Q3_K, IQ4_NL, IQ4_XS and MXFP4 without loss.
//# import weights/quant_group
const kQuantVecs_1 = 4u;
const kScaleWords_1 = 8u;
const kBlockWords_1 = 0u;
const kPaired_1 = false;
const kShifted_1 = true;

fn scale_vec_1(row: u32, i: u32) -> vec4f {
    return bitcast<vec4f>(w[row * kRowVecs_1 + kQuantVecs_1 * kQuantGroups_1 + i]);
}

alias Weights_1 = QuantGroup_1;

fn weights_1(row: u32, u: u32) -> Weights_1 {
    return QuantGroup_1(quants_1(row, u, 0u), quants_1(row, u, 1u), quants_1(row, u, 2u), quants_1(row, u, 3u),
                scale_vec_1(row, 2u * u), scale_vec_1(row, 2u * u + 1u));
}

fn quant_group_of_1(w: Weights_1) -> QuantGroup_1 { return w; }
