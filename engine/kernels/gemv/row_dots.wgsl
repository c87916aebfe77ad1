// A group's rows times x, a thread's share of it; for gemv.wgsl, once for each format of its weights.

// What the loaded ones come to.
fn loaded_dots_1(w: Loaded_1, a: Activations) -> vec4f {
    var out = vec4f(weights_dot_1(w.w0, a), 0.0, 0.0, 0.0);
    if (kRowsPerGroup > 1u) { out.y = weights_dot_1(w.w1, a); }
    if (kRowsPerGroup > 2u) {
        out.z = weights_dot_1(w.w2, a);
        out.w = weights_dot_1(w.w3, a);
    }
    return out;
}

// Σ over this thread's quant groups, for the rows of its group. With kPrefetch 1 the weights of the first quant group are there already.
// A loop, and short: what another kernel has driven from the caches is code, too (docs/performance.md).
fn dots_1(rows: vec4u, lane: u32, first: Loaded_1) -> vec4f {
    var sum = vec4f();
    if (kPrefetch == 1u && (kThreadsPerRow <= kQuantGroups_1 || lane < kQuantGroups_1)) { sum = loaded_dots_1(first, activations(lane)); }
    for (var round = kPrefetch; round < kRounds; round++) {
        let u = round * kThreadsPerRow + lane;
        if (kQuantGroups_1 % kThreadsPerRow != 0u && u >= kQuantGroups_1) { break; }
        sum += loaded_dots_1(loaded_1(rows, u), activations(u));
    }
    return sum;
}
