// F16: 8 elements a vec4.
//# import weights/floats
//# needs w
const kRunVecs_1 = 2u;

fn vec16_values_1(row: u32, r: u32) -> Vec16 {
    let base = row * kRowVecs_1 + r * kRunVecs_1;
    let a = w[base];
    let b = w[base + 1u];
    return Vec16(vec4f(unpack2x16float(a.x), unpack2x16float(a.y)), vec4f(unpack2x16float(a.z), unpack2x16float(a.w)),
               vec4f(unpack2x16float(b.x), unpack2x16float(b.y)), vec4f(unpack2x16float(b.z), unpack2x16float(b.w)));
}
