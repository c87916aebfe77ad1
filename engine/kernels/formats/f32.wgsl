// F32: 4 elements a vec4.
//# import formats/floats
//# needs w
const kRunVecs_1 = 4u;

fn run_values_1(row: u32, r: u32) -> Run {
    let base = row * kRowVecs_1 + r * kRunVecs_1;
    return Run(bitcast<vec4f>(w[base]), bitcast<vec4f>(w[base + 1u]), bitcast<vec4f>(w[base + 2u]),
               bitcast<vec4f>(w[base + 3u]));
}
