// The activations a product takes, as floats. x_at(group, i): vec4 i of a quant group's.
//# needs x_at
struct Activations {
    a0: vec4f, a1: vec4f, a2: vec4f, a3: vec4f, b0: vec4f, b1: vec4f, b2: vec4f, b3: vec4f,
    c0: vec4f, c1: vec4f, c2: vec4f, c3: vec4f, d0: vec4f, d1: vec4f, d2: vec4f, d3: vec4f,
}

fn activations(u: u32) -> Activations {
    return Activations(x_at(u, 0u), x_at(u, 1u), x_at(u, 2u), x_at(u, 3u), x_at(u, 4u), x_at(u, 5u), x_at(u, 6u),
                       x_at(u, 7u), x_at(u, 8u), x_at(u, 9u), x_at(u, 10u), x_at(u, 11u), x_at(u, 12u), x_at(u, 13u),
                       x_at(u, 14u), x_at(u, 15u));
}
