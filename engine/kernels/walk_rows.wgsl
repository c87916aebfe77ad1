// Going through rows, for walk.wgsl, once for each format of its weights.

// What the loaded rows come to; and what was used makes room for the weights of the next ones, so that they are on their
// way meanwhile.
fn dots_then(w: ptr<function, Loaded>, a: Activations, next: vec4u, u: u32, more: bool) -> vec4f {
    var out = vec4f(weights_dot((*w).w0, a), 0.0, 0.0, 0.0);
    if (more) { (*w).w0 = weights(next.x, u); }
    out.y = weights_dot((*w).w1, a);
    if (more) { (*w).w1 = weights(next.y, u); }
    if (kRows > 2u) {
        out.z = weights_dot((*w).w2, a);
        if (more) { (*w).w2 = weights(next.z, u); }
        out.w = weights_dot((*w).w3, a);
        if (more) { (*w).w3 = weights(next.w, u); }
    }
    return out;
}

fn go(way: Way, seat: u32, u: u32, t: u32) {
    var w = loaded(way_rows(way, seat, 0u), u);
    let a = ready_activations(u);
    for (var i = 0u; i < way.steps; i++) {
        let sums = dots_then(&w, a, way_rows(way, seat, i + 1u), u, i + 1u < way.steps);
        found[i * kThreads + t] = sum_of_four_threads(sums, t, kRows);
    }
}
