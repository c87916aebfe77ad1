// F32: 4 elements a vec4.
//# import weights/floats
//# needs w
const kRunVecs_1 = 4u;

fn vec16_values_1(row: u32, r: u32) -> Vec16 {
    let base = row * kRowVecs_1 + r * kRunVecs_1;
    return Vec16(bitcast<vec4f>(w[base]), bitcast<vec4f>(w[base + 1u]), bitcast<vec4f>(w[base + 2u]),
               bitcast<vec4f>(w[base + 3u]));
}
