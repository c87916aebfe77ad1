// BF16, the upper half of an f32: 8 elements a vec4.
const kRunVecs = 2u;

fn widened(a: u32, b: u32) -> vec4f {
    return bitcast<vec4f>(vec4u(a << 16u, a & 0xFFFF0000u, b << 16u, b & 0xFFFF0000u));
}

fn run_values(row: u32, r: u32) -> Run {
    let base = row * kRowVecs + r * kRunVecs;
    let a = w[base];
    let b = w[base + 1u];
    return Run(widened(a.x, a.y), widened(a.z, a.w), widened(b.x, b.y), widened(b.z, b.w));
}
