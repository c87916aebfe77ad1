// Σ q · x over a run, added to `before`: a chain, so that an instruction multiplies and adds.
fn byte_dot(q: vec4u, x: vec4u, before: i32) -> i32 {
    var sum = before + dot4I8Packed(q.x, x.x);
    sum += dot4I8Packed(q.y, x.y);
    sum += dot4I8Packed(q.z, x.z);
    return sum + dot4I8Packed(q.w, x.w);
}

// Σ q · X over a run, in two parts: times 2¹⁶, and times 1.
fn run_dot(q: vec4u, low: vec4u, middle: vec4u, high: vec4u) -> vec2i {
    let most = byte_dot(q, high, 0);
    if (kChained) { return vec2i(most, byte_dot(q, low, 256 * byte_dot(q, middle, 0))); }
    return vec2i(most, byte_dot(q, middle, 0) * 256 + byte_dot(q, low, 0));
}

// The same over two runs, q and r.
fn half_dot(q: vec4u, r: vec4u, low0: vec4u, low1: vec4u, middle0: vec4u, middle1: vec4u, high0: vec4u,
            high1: vec4u) -> vec2i {
    if (!kChained) { return run_dot(q, low0, middle0, high0) + run_dot(r, low1, middle1, high1); }
    let middle = byte_dot(r, middle1, byte_dot(q, middle0, 0));
    return vec2i(byte_dot(r, high1, byte_dot(q, high0, 0)), byte_dot(r, low1, byte_dot(q, low0, 256 * middle)));
}

fn joined(v: vec2i) -> f32 { return f32(v.x) * 65536.0 + f32(v.y); }

// Σ weight · x over a unit.
fn weights_dot(loaded: Weights, a: Activations) -> f32 {
    let w = unit_of(loaded);
    var sum = 0.0;
    if (kPaired) {
        let first = half_dot(w.q0, w.q1, a.l0, a.l1, a.m0, a.m1, a.h0, a.h1);
        let second = half_dot(w.q2, w.q3, a.l2, a.l3, a.m2, a.m3, a.h2, a.h3);
        sum = w.scale.x * (a.scale.x * joined(first)) + w.scale.z * (a.scale.y * joined(second));
    } else {
        sum = dot(w.scale * a.scale.xxyy,
                  vec4f(joined(run_dot(w.q0, a.l0, a.m0, a.h0)), joined(run_dot(w.q1, a.l1, a.m1, a.h1)),
                        joined(run_dot(w.q2, a.l2, a.m2, a.h2)), joined(run_dot(w.q3, a.l3, a.m3, a.h3))));
    }
    if (kShifted) { sum -= dot(w.shift, a.sums); }
    return sum;
}
