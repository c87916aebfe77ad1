// For gemv.wgsl and gemv_persistent.wgsl, once for each format of their weights.

// What a thread has loaded of each of its group's rows.
struct Loaded_1 { w0: Weights_1, w1: Weights_1, w2: Weights_1, w3: Weights_1 }

fn loaded_1(rows: vec4u, u: u32) -> Loaded_1 {
    var out: Loaded_1;
    out.w0 = weights_1(rows.x, u);
    if (kRowsPerGroup > 1u) { out.w1 = weights_1(rows.y, u); }
    if (kRowsPerGroup > 2u) {
        out.w2 = weights_1(rows.z, u);
        out.w3 = weights_1(rows.w, u);
    }
    return out;
}
