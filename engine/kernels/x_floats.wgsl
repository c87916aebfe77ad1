// The activations a product needs, as floats: held in workgroup memory, or read from where an earlier kernel left them.
struct Activations {
    a0: vec4f, a1: vec4f, a2: vec4f, a3: vec4f, b0: vec4f, b1: vec4f, b2: vec4f, b3: vec4f,
    c0: vec4f, c1: vec4f, c2: vec4f, c3: vec4f, d0: vec4f, d1: vec4f, d2: vec4f, d3: vec4f,
}

override kHeldUnits: u32 = select(kUnits_1, 1u, kSource == 0u);
override kHeldVecs: u32 = 16u * kHeldUnits;
var<workgroup> held: array<vec4f, kHeldVecs>;  // [run · 4 + i][unit]

// Eight e of x, from thread t.
fn keep_eight(e: u32, t: u32, v: Eight) {
    if (e >= 8u * kUnits_1) { return; }
    let run = e / 2u;
    let of_unit = select(run % 4u, run / kUnits_1, kApart_1);
    let unit = select(run / 4u, run % kUnits_1, kApart_1);
    let at = (4u * of_unit + 2u * (e % 2u)) * kUnits_1 + unit;
    held[at] = v.v0;
    held[at + kUnits_1] = v.v1;
}

fn x_at(u: u32, i: u32) -> vec4f {
    if (kSource != 0u) { return held[i * kUnits_1 + u]; }
    let run = select(4u * u + i / 4u, u + i / 4u * kUnits_1, kApart_1);
    let at = 4u * run + i % 4u;
    // Rows need not fill their last unit.
    return select(vec4f(), bitcast<vec4f>(x[at]), at < kCols / 4u);
}

fn activations(u: u32) -> Activations {
    return Activations(x_at(u, 0u), x_at(u, 1u), x_at(u, 2u), x_at(u, 3u), x_at(u, 4u), x_at(u, 5u), x_at(u, 6u),
                       x_at(u, 7u), x_at(u, 8u), x_at(u, 9u), x_at(u, 10u), x_at(u, 11u), x_at(u, 12u), x_at(u, 13u),
                       x_at(u, 14u), x_at(u, 15u));
}

