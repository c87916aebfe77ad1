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
    let at = 12u * kUnits + 2u * u;
    return Activations(x[u], x[kUnits + u], x[2u * kUnits + u], x[3u * kUnits + u], x[4u * kUnits + u],
                       x[5u * kUnits + u], x[6u * kUnits + u], x[7u * kUnits + u], x[8u * kUnits + u],
                       x[9u * kUnits + u], x[10u * kUnits + u], x[11u * kUnits + u],
                       bitcast<vec4f>(x[at]).xy, bitcast<vec4f>(x[at + 1u]));
}
