// The activations a product needs, as planes (planes.wgsl).
struct Activations {
    l0: vec4u, l1: vec4u, l2: vec4u, l3: vec4u,
    m0: vec4u, m1: vec4u, m2: vec4u, m3: vec4u,
    h0: vec4u, h1: vec4u, h2: vec4u, h3: vec4u,
    scale: vec2f,
    sums: vec4f,
}

// They are there already, in x.
fn ready_activations(u: u32) -> Activations {
    let at = 12u * kUnits_1 + 2u * u;
    return Activations(x[u], x[kUnits_1 + u], x[2u * kUnits_1 + u], x[3u * kUnits_1 + u], x[4u * kUnits_1 + u],
                       x[5u * kUnits_1 + u], x[6u * kUnits_1 + u], x[7u * kUnits_1 + u], x[8u * kUnits_1 + u],
                       x[9u * kUnits_1 + u], x[10u * kUnits_1 + u], x[11u * kUnits_1 + u],
                       bitcast<vec4f>(x[at]).xy, bitcast<vec4f>(x[at + 1u]));
}
