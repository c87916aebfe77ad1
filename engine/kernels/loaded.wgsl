// For matvec.wgsl and walk.wgsl, once for each format of their weights.

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
