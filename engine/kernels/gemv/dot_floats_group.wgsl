// Whole-number weights times activations as floats: a product takes one quant group of both at a time.

fn vec16_dot_1(q: vec4u, v0: vec4f, v1: vec4f, v2: vec4f, v3: vec4f) -> f32 {
    return dot(signed_bytes(q.x), v0) + dot(signed_bytes(q.y), v1) + dot(signed_bytes(q.z), v2) +
           dot(signed_bytes(q.w), v3);
}

// Σ weight · x over a quant group of whole numbers.
fn weights_dot_1(loaded: Weights_1, a: Activations) -> f32 {
    let w = quant_group_of_1(loaded);
    let sums = vec4f(vec16_dot_1(w.q0, a.a0, a.a1, a.a2, a.a3), vec16_dot_1(w.q1, a.b0, a.b1, a.b2, a.b3),
                     vec16_dot_1(w.q2, a.c0, a.c1, a.c2, a.c3), vec16_dot_1(w.q3, a.d0, a.d1, a.d2, a.d3));
    if (!kShifted_1) { return dot(w.scale, sums); }
    let ones = vec4f(1.0);
    return dot(w.scale, sums) - dot(w.shift, vec4f(dot(a.a0 + a.a1 + a.a2 + a.a3, ones),
                                                   dot(a.b0 + a.b1 + a.b2 + a.b3, ones),
                                                   dot(a.c0 + a.c1 + a.c2 + a.c3, ones),
                                                   dot(a.d0 + a.d1 + a.d2 + a.d3, ones)));
}
