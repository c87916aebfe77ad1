// A group's rows times x, a thread's share of it; for matvec.wgsl, once for each format of its weights.

// What a thread has loaded of each of its group's rows.
struct Loaded { w0: Weights, w1: Weights, w2: Weights, w3: Weights }

fn loaded(rows: vec4u, u: u32) -> Loaded {
    var out: Loaded;
    out.w0 = weights(rows.x, u);
    if (kRows > 1u) { out.w1 = weights(rows.y, u); }
    if (kRows > 2u) {
        out.w2 = weights(rows.z, u);
        out.w3 = weights(rows.w, u);
    }
    return out;
}

fn loaded_dots(w: Loaded, a: Activations) -> vec4f {
    var out = vec4f(weights_dot(w.w0, a), 0.0, 0.0, 0.0);
    if (kRows > 1u) { out.y = weights_dot(w.w1, a); }
    if (kRows > 2u) {
        out.z = weights_dot(w.w2, a);
        out.w = weights_dot(w.w3, a);
    }
    return out;
}

// The same; and what was used makes room for the weights of the next rows, so that they are on their way meanwhile.
fn dots_then(w: ptr<function, Loaded>, a: Activations, next: vec4u, u: u32, more: bool) -> vec4f {
    var out = vec4f(weights_dot((*w).w0, a), 0.0, 0.0, 0.0);
    if (more) { (*w).w0 = weights(next.x, u); }
    if (kRows > 1u) {
        out.y = weights_dot((*w).w1, a);
        if (more) { (*w).w1 = weights(next.y, u); }
    }
    if (kRows > 2u) {
        out.z = weights_dot((*w).w2, a);
        if (more) { (*w).w2 = weights(next.z, u); }
        out.w = weights_dot((*w).w3, a);
        if (more) { (*w).w3 = weights(next.w, u); }
    }
    return out;
}

// Σ over this thread's units, for the rows of its group. With kAhead 1 the weights of the first unit are there already.
// A loop, and short: what another kernel has driven from the caches is code, too (docs/performance.md).
fn dots(rows: vec4u, lane: u32, first: Loaded) -> vec4f {
    var sum = vec4f();
    if (kAhead == 1u && (kLanes <= kUnits || lane < kUnits)) { sum = loaded_dots(first, activations(lane)); }
    for (var round = kAhead; round < kRounds; round++) {
        let u = round * kLanes + lane;
        if (kUnits % kLanes != 0u && u >= kUnits) { break; }
        sum += loaded_dots(loaded(rows, u), activations(u));
    }
    return sum;
}
