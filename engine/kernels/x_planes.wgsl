// The activations a product needs, as planes (planes.wgsl), prepared by this workgroup or by an earlier kernel.
struct Activations {
    l0: vec4u, l1: vec4u, l2: vec4u, l3: vec4u,
    m0: vec4u, m1: vec4u, m2: vec4u, m3: vec4u,
    h0: vec4u, h1: vec4u, h2: vec4u, h3: vec4u,
    scale: vec2f,
    sums: vec4f,
}

// One index leads to all of a unit: Dawn checks every one. The last vec4 is there so that neighbouring units lie in
// different banks of memory.
struct HeldUnit { planes: array<vec4u, 12>, scale: vec4f, sums: vec4f, spare: vec4f }

override kHeldUnits: u32 = select(kUnits, 1u, kSource == 0u);
var<workgroup> held_units: array<HeldUnit, kHeldUnits>;

// Eight e of x, from thread t. Neighbouring threads bring the others of a half.
fn keep_eight(e: u32, t: u32, v: Eight) {
    let found = over_neighbours(largest_of_eight(v), sum_of_eight(v), t);
    if (e >= 8u * kUnits) { return; }
    let planes = planes_of_eight(v, found.x);
    let held = &held_units[e / 8u];
    let run = e / 2u % 4u;
    let word = 2u * (e % 2u);
    for (var plane = 0u; plane < 3u; plane++) {
        let words = &(*held).planes[4u * plane + run];
        (*words)[word] = planes.first[plane];
        (*words)[word + 1u] = planes.second[plane];
    }
    if (e % 4u == 0u) { (*held).scale[run / 2u] = found.x * kUnitScale; }
    if (e % 2u == 0u) { (*held).sums[run] = found.y; }
}

fn activations(u: u32) -> Activations {
    if (kSource == 0u) {
        let at = 12u * kUnits + 2u * u;
        return Activations(x[u], x[kUnits + u], x[2u * kUnits + u], x[3u * kUnits + u], x[4u * kUnits + u],
                           x[5u * kUnits + u], x[6u * kUnits + u], x[7u * kUnits + u], x[8u * kUnits + u],
                           x[9u * kUnits + u], x[10u * kUnits + u], x[11u * kUnits + u],
                           bitcast<vec4f>(x[at]).xy, bitcast<vec4f>(x[at + 1u]));
    }
    let held = &held_units[u];
    let p = &(*held).planes;
    return Activations((*p)[0], (*p)[1], (*p)[2], (*p)[3], (*p)[4], (*p)[5], (*p)[6], (*p)[7], (*p)[8], (*p)[9],
                       (*p)[10], (*p)[11], (*held).scale.xy, (*held).sums);
}

fn byte_dot(q: vec4u, x: vec4u) -> i32 {
    return dot4I8Packed(q.x, x.x) + dot4I8Packed(q.y, x.y) + dot4I8Packed(q.z, x.z) + dot4I8Packed(q.w, x.w);
}

// Σ q · X over a run, in two parts: times 2¹⁶, and times 1.
fn run_dot(q: vec4u, low: vec4u, middle: vec4u, high: vec4u) -> vec2i {
    return vec2i(byte_dot(q, high), byte_dot(q, middle) * 256 + byte_dot(q, low));
}

fn joined(v: vec2i) -> f32 { return f32(v.x) * 65536.0 + f32(v.y); }

// Σ weight · x over a unit.
fn weights_dot(loaded: Weights, a: Activations) -> f32 {
    let w = unit_of(loaded);
    let r0 = run_dot(w.q0, a.l0, a.m0, a.h0);
    let r1 = run_dot(w.q1, a.l1, a.m1, a.h1);
    let r2 = run_dot(w.q2, a.l2, a.m2, a.h2);
    let r3 = run_dot(w.q3, a.l3, a.m3, a.h3);
    var sum = 0.0;
    if (kPaired) {
        sum = w.scale.x * (a.scale.x * joined(r0 + r1)) + w.scale.z * (a.scale.y * joined(r2 + r3));
    } else {
        sum = dot(w.scale * a.scale.xxyy, vec4f(joined(r0), joined(r1), joined(r2), joined(r3)));
    }
    if (kShifted) { sum -= dot(w.shift, a.sums); }
    return sum;
}
