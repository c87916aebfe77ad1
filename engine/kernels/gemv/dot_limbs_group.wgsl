// Whole-number weights times activations as limbs, exactly: four products an instruction.

fn byte_dot_1(q: vec4u, x: vec4u) -> i32 {
    return dot4I8Packed(q.x, x.x) + dot4I8Packed(q.y, x.y) + dot4I8Packed(q.z, x.z) + dot4I8Packed(q.w, x.w);
}

// Σ q · X over a run, in two parts: times 2¹⁶, and times 1.
fn vec16_dot_1(q: vec4u, low: vec4u, middle: vec4u, high: vec4u) -> vec2i {
    return vec2i(byte_dot_1(q, high), byte_dot_1(q, middle) * 256 + byte_dot_1(q, low));
}

fn joined_1(v: vec2i) -> f32 { return f32(v.x) * 65536.0 + f32(v.y); }

// Σ weight · x over a quant group.
fn weights_dot_1(loaded: Weights_1, a: Activations) -> f32 {
    let w = quant_group_of_1(loaded);
    let r0 = vec16_dot_1(w.q0, a.l0, a.m0, a.h0);
    let r1 = vec16_dot_1(w.q1, a.l1, a.m1, a.h1);
    let r2 = vec16_dot_1(w.q2, a.l2, a.m2, a.h2);
    let r3 = vec16_dot_1(w.q3, a.l3, a.m3, a.h3);
    var sum = 0.0;
    if (kPaired_1) {
        sum = w.scale.x * (a.scale.x * joined_1(r0 + r1)) + w.scale.z * (a.scale.y * joined_1(r2 + r3));
    } else {
        sum = dot(w.scale * a.scale.xxyy, vec4f(joined_1(r0), joined_1(r1), joined_1(r2), joined_1(r3)));
    }
    if (kShifted_1) { sum -= dot(w.shift, a.sums); }
    return sum;
}
