// Going through rows, for gemv_persistent.wgsl, once for each format of its weights.

// What the loaded rows come to; and what was used makes room for the weights of the next ones, so that they are on their
// way meanwhile.
fn dots_then_1(w: ptr<function, Loaded_1>, a: Activations, next: vec4u, u: u32, more: bool) -> vec4f {
    var out = vec4f(weights_dot_1((*w).w0, a), 0.0, 0.0, 0.0);
    if (more) { (*w).w0 = weights_1(next.x, u); }
    out.y = weights_dot_1((*w).w1, a);
    if (more) { (*w).w1 = weights_1(next.y, u); }
    if (kRowsPerGroup > 2u) {
        out.z = weights_dot_1((*w).w2, a);
        if (more) { (*w).w2 = weights_1(next.z, u); }
        out.w = weights_dot_1((*w).w3, a);
        if (more) { (*w).w3 = weights_1(next.w, u); }
    }
    return out;
}

fn run_1(assignment: Assignment, row_group: u32, u: u32, t: u32) {
    var w = loaded_1(assignment_rows(assignment, row_group, 0u), u);
    let a = ready_activations(u);
    for (var i = 0u; i < assignment.steps; i++) {
        let sums = dots_then_1(&w, a, assignment_rows(assignment, row_group, i + 1u), u, i + 1u < assignment.steps);
        partial_sums[i * kThreads + t] = sum_of_four_threads(sums, t, kRowsPerGroup);
    }
}
