// Numbers as whole ones, so that products with quantised weights can be summed exactly, four bytes an instruction: of each
// 32 neighbours, x = scale · X with |X| ≤ 63 · 2¹⁶, X in three signed bytes. What is lost is what f32 loses.
//
// A unit of 64 takes 14 vec4. Of `units` units: [plane · 4 + run][unit] vec4 of bytes (plane 0: the lowest ones), then for
// each unit (scale of its first and of its second half, 0, 0) and (the sums of its four runs of 16).
const kLargest = 4128768.0;

// The three bytes of each X, 128 added to every one.
fn whole(v: vec4f, inverse: f32) -> vec4u {
    // 1.5 · 2²³ puts X into the last bits of a float; what is added removes the exponent and makes the bytes positive.
    return bitcast<vec4u>(v * inverse + 12582912.0) + vec4u(0xB5408080u);
}

fn plane_word(z: vec4u, plane: u32) -> u32 {
    let b = (z >> vec4u(8u * plane)) & vec4u(255u);
    return (b.x | (b.y << 8u) | (b.z << 16u) | (b.w << 24u)) ^ 0x80808080u;
}

fn inverse_of(largest: f32) -> f32 {
    return select(0.0, kLargest / largest, largest > 0.0);
}

fn largest_of(v: vec4f) -> f32 {
    let a = abs(v);
    return max(max(a.x, a.y), max(a.z, a.w));
}

fn largest_of_run(v: Run) -> f32 {
    return max(max(largest_of(v.v0), largest_of(v.v1)), max(largest_of(v.v2), largest_of(v.v3)));
}

fn sum_of_run(v: Run) -> f32 { return dot(v.v0 + v.v1 + v.v2 + v.v3, vec4f(1.0)); }

// A run's bytes, plane by plane.
struct RunPlanes { low: vec4u, middle: vec4u, high: vec4u }

fn planes_of_run(v: Run, largest: f32) -> RunPlanes {
    let inverse = inverse_of(largest);
    let z0 = whole(v.v0, inverse);
    let z1 = whole(v.v1, inverse);
    let z2 = whole(v.v2, inverse);
    let z3 = whole(v.v3, inverse);
    return RunPlanes(vec4u(plane_word(z0, 0u), plane_word(z1, 0u), plane_word(z2, 0u), plane_word(z3, 0u)),
                     vec4u(plane_word(z0, 1u), plane_word(z1, 1u), plane_word(z2, 1u), plane_word(z3, 1u)),
                     vec4u(plane_word(z0, 2u), plane_word(z1, 2u), plane_word(z2, 2u), plane_word(z3, 2u)));
}
