// Floating-point weights times activations as floats: a product takes one quant group of both at a time.

fn vec16_dot_1(w: Vec16, v0: vec4f, v1: vec4f, v2: vec4f, v3: vec4f) -> f32 {
    return dot(w.v0, v0) + dot(w.v1, v1) + dot(w.v2, v2) + dot(w.v3, v3);
}

// Σ weight · x over a quant group in floating point.
fn weights_dot_1(w: Weights_1, a: Activations) -> f32 {
    return vec16_dot_1(w.r0, a.a0, a.a1, a.a2, a.a3) + vec16_dot_1(w.r1, a.b0, a.b1, a.b2, a.b3) +
           vec16_dot_1(w.r2, a.c0, a.c1, a.c2, a.c3) + vec16_dot_1(w.r3, a.d0, a.d1, a.d2, a.d3);
}
