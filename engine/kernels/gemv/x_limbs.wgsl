// The activations a product needs, as limbs (limbs.wgsl).
struct Activations {
    l0: vec4u, l1: vec4u, l2: vec4u, l3: vec4u,
    m0: vec4u, m1: vec4u, m2: vec4u, m3: vec4u,
    h0: vec4u, h1: vec4u, h2: vec4u, h3: vec4u,
    scale: vec2f,
    sums: vec4f,
}

// They are there already, in x.
fn ready_activations(u: u32) -> Activations {
    let at = 12u * kQuantGroups_1 + 2u * u;
    return Activations(x[u], x[kQuantGroups_1 + u], x[2u * kQuantGroups_1 + u], x[3u * kQuantGroups_1 + u], x[4u * kQuantGroups_1 + u],
                       x[5u * kQuantGroups_1 + u], x[6u * kQuantGroups_1 + u], x[7u * kQuantGroups_1 + u], x[8u * kQuantGroups_1 + u],
                       x[9u * kQuantGroups_1 + u], x[10u * kQuantGroups_1 + u], x[11u * kQuantGroups_1 + u],
                       bitcast<vec4f>(x[at]).xy, bitcast<vec4f>(x[at + 1u]));
}
