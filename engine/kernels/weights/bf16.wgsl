// BF16, the upper half of an f32: 8 elements a vec4.
//# import weights/floats
//# needs w
const kRunVecs_1 = 2u;

fn widened_1(a: u32, b: u32) -> vec4f {
    return bitcast<vec4f>(vec4u(a << 16u, a & 0xFFFF0000u, b << 16u, b & 0xFFFF0000u));
}

fn vec16_values_1(row: u32, r: u32) -> Vec16 {
    let base = row * kRowVecs_1 + r * kRunVecs_1;
    let a = w[base];
    let b = w[base + 1u];
    return Vec16(widened_1(a.x, a.y), widened_1(a.z, a.w), widened_1(b.x, b.y), widened_1(b.z, b.w));
}
