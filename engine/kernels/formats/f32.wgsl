// F32: 4 elements a vec4.
const kRunVecs = 4u;

fn run_values(row: u32, r: u32) -> Run {
    let base = row * kRowVecs + r * kRunVecs;
    return Run(bitcast<vec4f>(w[base]), bitcast<vec4f>(w[base + 1u]), bitcast<vec4f>(w[base + 2u]),
               bitcast<vec4f>(w[base + 3u]));
}
